"""Progress of an analysis of many trials."""

from collections.abc import Callable

Progress = Callable[[str, int, int], object]
"""Called with the current step, the amount done, and the total."""
