"""Intervals and stopping rules that stay valid under repeated looks."""
