"""How many further rounds would settle an open case."""

from __future__ import annotations

from math import ceil, isfinite, sqrt

import numpy as np
from scipy.special import ndtr, ndtri

CHANCE = 0.9
"""The probability with which the named number of rounds settles a case, whatever the truth within the interval of now."""
FAR = 100_000
_HOPELESS = 100
"""Further rounds for each trial that there is, beyond which more of them are no advice: an hour would become days."""
_STEP = 1.02
_LEAST = 0.25
_TRUTHS = np.linspace(-1.96, 1.96, 41)


def further_rounds(
    estimate: float, error: float, rounds: int, *, margin: float, alpha: float, confidence: float
) -> int | None:
    """Further rounds after which a shift is told from 0, or shown to lie within the margin, with a probability of 90 %.

    The truth is not known: it may lie anywhere in the 95 % interval of now, and the probability is that of the worst case.
    With w the share of rounds that ran already, the estimate of all rounds together will, given a truth, be normal about
    w estimate + (1 - w) truth with variance w (1 - w) error², and have the standard error error √w ("conditional power",
    Jennison and Turnbull 2000, chapter 10).

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
    # An interval is not known so well that few more rounds could be promised to do.
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
    """The least probability, over the truths, that the final estimate lies outside the one bound or inside the other."""
    final = error * sqrt(share)
    shown, within = beyond * final, max(0.0, margin - reach * final)
    if within >= shown:
        return 1.0
    spread, centres = final * sqrt(1 - share), estimate + (1 - share) * error * _TRUTHS
    inside = ndtr((within - centres) / spread) - ndtr((-within - centres) / spread)
    outside = ndtr((-shown - centres) / spread) + ndtr((centres - shown) / spread)
    return float((inside + outside).min())
