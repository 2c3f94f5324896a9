"""How many further rounds would settle an open case."""

from __future__ import annotations

from math import ceil, isfinite, sqrt

from scipy.special import ndtr, ndtri

CHANCE = 0.9
"""The probability with which the named number of rounds settles a case."""
FAR = 100_000
_STEP = 1.02


def further_rounds(
    estimate: float, error: float, rounds: int, *, margin: float, alpha: float, confidence: float
) -> int | None:
    """Further rounds after which a shift is told from 0, or shown to lie within the margin, with a probability of 90 %.

    The truth is not known: given the data it is normal about the estimate with its standard error (a flat prior), so that
    the estimate of all rounds together will be normal about the one of now with variance error² (1 - w), and have the
    standard error error √w, where w is the share of rounds that ran already (Spiegelhalter, Freedman and Parmar 1994,
    "predictive power").

    Parameters
    ----------
    estimate, error
        Of the shift, in the unit of the margin.
    rounds
        That ran already.
    alpha
        Level at which a shift counts as shown, corrected for the number of tests, as a share.
    confidence
        Of the interval that has to lie within the margin, in percent.

    Returns
    -------
    int or None
        None where nothing varies or nothing is known; more than `FAR` where it is too far to look.
    """
    if not (isfinite(estimate) and isfinite(error) and error > 0 and margin > 0):
        return None
    beyond = -float(ndtri(alpha / 2))
    reach = float(ndtri(0.5 + confidence / 200))
    further = 1
    while further <= FAR:
        if _settled(estimate, error, rounds / (rounds + further), beyond, reach, margin) >= CHANCE:
            return further
        further = max(further + 1, ceil(further * _STEP))
    return further


def _settled(
    estimate: float, error: float, share: float, beyond: float, reach: float, margin: float
) -> float:
    """The probability that the final estimate lies outside the one bound or inside the other."""
    spread, final = error * sqrt(1 - share), error * sqrt(share)
    shown, within = beyond * final, max(0.0, margin - reach * final)
    if within >= shown:
        return 1.0
    inside = ndtr((within - estimate) / spread) - ndtr((-within - estimate) / spread)
    outside = ndtr((-shown - estimate) / spread) + ndtr((estimate - shown) / spread)
    return float(inside + outside)
