"""A forecast in words, without what makes it."""

from __future__ import annotations

from trialwise.statistics.sequential.sampling import MOST


def wanted_text(wanted: int | None, low: int | None, high: int | None, level: str) -> str:
    """Write a forecast with its interval in words; None means beyond any forecast."""
    if wanted is None:
        return f"more than {MOST:,} {level}s"
    to = f"over {MOST:,}" if high is None else f"{high:,}"
    between = "" if low is None else f" ({low:,} to {to})"
    return f"about {wanted:,} {level}s{between}"
