"""Corrections of p-values for multiplicity: family-wise by Holm, false discoveries by Benjamini and Hochberg."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Correction: TypeAlias = Literal["holm", "bh"]
NAMES: dict[Correction, str] = {"holm": "Holm", "bh": "Benjamini–Hochberg"}


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiplicity (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected = [0.0] * len(p_values)
    reached = 0.0
    for rank, at in enumerate(order):
        reached = max(reached, (len(p_values) - rank) * p_values[at])
        corrected[at] = min(1.0, reached)
    return corrected


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Correct p-values so that the expected share of false discoveries is bounded (Benjamini and Hochberg 1995)."""
    from scipy.stats import false_discovery_control

    return [float(p_value) for p_value in false_discovery_control(list(p_values))]


def corrected(p_values: Sequence[float], correction: Correction) -> list[float]:
    """Correct p-values by the named correction."""
    return holm(p_values) if correction == "holm" else benjamini_hochberg(p_values)
