"""Intervals and rules that hold though one looks in between."""
