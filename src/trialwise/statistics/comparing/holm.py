"""Holm's correction of p-values for multiplicity."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiplicity (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected = [0.0] * len(p_values)
    reached = 0.0
    for rank, at in enumerate(order):
        reached = max(reached, (len(p_values) - rank) * p_values[at])
        corrected[at] = min(1.0, reached)
    return corrected
