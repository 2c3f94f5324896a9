"""How far an analysis of many trials is."""

from collections.abc import Callable

Progress = Callable[[str, int, int], object]
"""Told what is done, how much of it, and of how much."""
