"""The number of further rounds that would settle an undecided case."""

from __future__ import annotations

from math import ceil, isfinite, sqrt

import numpy as np

from trialwise.late import special

CHANCE = 0.9
"""Probability that the reported number of rounds settles a case, for any truth within the present interval."""
FAR = 100_000
_HOPELESS = 100
"""Further rounds per existing trial beyond which no more are advised: an hour would become days."""
_STEP = 1.02
_LEAST = 0.25
_TRUTHS = np.linspace(-1.96, 1.96, 41)


def further_rounds(
    estimate: float, error: float, rounds: int, *, margin: float, alpha: float, confidence: float
) -> int | None:
    """Return the further rounds that show a shift, or show that it lies within the margin, with a probability of 90 %.

    The unknown truth may lie anywhere in the present 95 % interval; the probability is for the worst case. With w the share of
    rounds already run, the estimate from all rounds is, given a truth, normal with mean w estimate + (1 - w) truth and variance w (1
    - w) error², and its standard error is error √w ("conditional power", Jennison and Turnbull 2000, chapter 10).

    Parameters
    ----------
    estimate, error
        Of the shift, in the unit of the margin.
    rounds
        Number of rounds already run.
    alpha
        Significance level of a shift, corrected for the number of tests, as a share.
    confidence
        Of the interval that must lie within the margin, in percent.

    Returns
    -------
    int or None
        None if nothing varies or nothing is known; more than `FAR` if it is beyond the search.
    """
    if not (isfinite(estimate) and isfinite(error) and error > 0 and margin > 0):
        return None
    beyond = -float(special.ndtri(alpha / 2))
    reach = float(special.ndtri(0.5 + confidence / 200))
    # An interval is itself too uncertain to promise that a few more rounds suffice.
    further = max(1, ceil(rounds * _LEAST))
    while further <= FAR:
        if _settled(estimate, error, rounds / (rounds + further), beyond, reach, margin) >= CHANCE:
            return further
        further = max(further + 1, ceil(further * _STEP))
    return further


def is_hopeless(further: int, trials: int) -> bool:
    """Return True if so many further rounds are out of proportion to the trials that were run, or beyond `FAR`."""
    return further >= FAR or further > _HOPELESS * trials


def _settled(
    estimate: float, error: float, share: float, beyond: float, reach: float, margin: float
) -> float:
    """Return the smallest probability, over the truths, that the final estimate lies outside one bound or inside the other."""
    final = error * sqrt(share)
    shown, within = beyond * final, max(0.0, margin - reach * final)
    if within >= shown:
        return 1.0
    spread, centres = final * sqrt(1 - share), estimate + (1 - share) * error * _TRUTHS
    inside = special.ndtr((within - centres) / spread) - special.ndtr((-within - centres) / spread)
    outside = special.ndtr((-shown - centres) / spread) + special.ndtr((centres - shown) / spread)
    return float((inside + outside).min())
