"""Effect sizes of F statistics, with intervals from the noncentral F distribution."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, isnan, nan

from trialwise.late import special

EFFECT = "partial omega squared"


@dataclass(frozen=True, slots=True)
class EffectSize:
    """The share of variance that a term explains, adjusted for the other terms, with its interval."""

    estimate: float
    low: float
    high: float


def partial_omega_squared(f: float, df: float, residual_df: float, confidence: float) -> EffectSize:
    """Estimate partial ω² from an F statistic; the confidence is a share.

    The estimate is df (F - 1) / (df (F - 1) + df + df_residual + 1), at least 0 (Olejnik and Algina 2003). The bounds are λ / (λ +
    df + df_residual + 1) for the two λ at which the noncentral F distribution has probability (1 - confidence)/2 above and below the
    observed F (Steiger 2004); the lower one is 0 if F is too small for such a λ.
    """
    if isnan(f):
        return EffectSize(nan, nan, nan)
    if not isfinite(f):
        return EffectSize(1.0, 1.0, 1.0)
    total = df + residual_df + 1
    explained = max(0.0, df * (f - 1))
    tail = (1 - confidence) / 2
    low, high = (_noncentrality(f, df, residual_df, level) for level in (1 - tail, tail))
    return EffectSize(explained / (explained + total), low / (low + total), high / (high + total))


def _noncentrality(f: float, df: float, residual_df: float, level: float) -> float:
    """Return the noncentrality at which F is reached with this probability; 0 if the probability is smaller even at 0."""

    def below(noncentrality: float) -> float:
        return float(special.ncfdtr(df, residual_df, noncentrality, f))

    if below(0.0) <= level:
        return 0.0
    low, high = 0.0, max(1.0, df * f)
    while below(high) > level:
        low, high = high, 2 * high
        if high == inf:
            return high
    for _ in range(80):
        middle = (low + high) / 2
        if not low < middle < high or high - low < 1e-10 * high:
            break
        low, high = (middle, high) if below(middle) > level else (low, middle)
    return (low + high) / 2
