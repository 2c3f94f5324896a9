"""Which slowdown of one benchmark a suite's comparison finds, by the noise of its pilot.

The fresh rounds of a benchmark are judged by Student's t of its pairs, against the margin and at its group's share of the error. The
chance that they find a slowdown is the mean over the benchmarks, any of which may be the slower one, of the chances that the pilot
picks it or does not, times those that fresh rounds then show it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.comparison.results import ComparisonRow
from trialwise.arrays import Array
from trialwise.experiment.model import Extent
from trialwise.experiment.quantity import duration_text
from trialwise.late import special
from trialwise.numbers import about, counted, write

CHANCE = 0.9
"""With which the slowdown is found."""
MOST = 10_000
"""Rounds beyond which no number is named."""
_SURE = 0.8
"""Confidence that the pilot's deviations are not larger than taken."""
_LARGEST = 1000.0
_CLOSE = 1e-3


@dataclass(frozen=True, slots=True)
class Errors:
    """One-sided errors of one benchmark's tests: of the pilot's screening, and of fresh rounds if it is picked, or is not."""

    screen: float
    picked: float
    others: float


@dataclass(frozen=True, slots=True)
class Reach:
    """Fresh `rounds`, and the slowdown in `percent` that they find in one benchmark with a chance of 90 %; None if there is none.

    `rounds_needed` fresh rounds find `wanted` percent; None if no feasible number does. `budget` is the duration of both looks with
    them, in seconds.
    """

    rounds: int
    percent: float | None
    wanted: float
    rounds_needed: int | None
    budget: float | None


def deviations(rows: Sequence[ComparisonRow]) -> Array:
    """Return the standard deviation of each benchmark's pairs, in percent of base, as `deviation_at_most`; of those that have one."""
    found = [
        100 * deviation_at_most(row.difference) / abs(row.difference.means[0])
        for row in rows
        if row.difference is not None and row.difference.means[0]
    ]
    return np.array(found)


def deviation_at_most(difference: st.Difference) -> float:
    """Return the upper confidence bound of the standard deviation of pairs, so that a quiet pilot does not promise too much."""
    n = difference.n[0]
    return difference.welch.se * sqrt(n * (n - 1) / float(special.chdtri(n - 1, _SURE)))


def chance(slowdown: float, rounds: int, pilot: int, spread: Array, margin: Extent, errors: Errors) -> float:
    """Return the chance that a slowdown in percent of one benchmark, which may be any, is found by so many fresh rounds."""
    picked = _exceeds(slowdown, pilot, spread, errors.screen)
    beyond = slowdown - margin.value
    shown = [_exceeds(beyond, rounds, spread, error) for error in (errors.picked, errors.others)]
    return float(np.mean(picked * shown[0] + (1 - picked) * shown[1]))


def found_slowdown(at: Callable[[float], float], least: float) -> float | None:
    """Return the smallest slowdown, above `least` percent, that has the `CHANCE` by `at`; None if it is above 1000 %."""
    low, high = least, least + _LARGEST
    if at(high) < CHANCE:
        return None
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if at(middle) >= CHANCE else (middle, high)
    return high


def found_rounds(at: Callable[[int], float], least: int) -> int | None:
    """Return the smallest number of rounds, from `least` to `MOST`, that has the `CHANCE` by `at`; None if there is none."""
    low, high = least - 1, MOST
    if at(high) < CHANCE:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if at(middle) >= CHANCE else (middle, high)
    return high


def reach_words(reach: Reach) -> str:
    """Say which slowdown of one benchmark is found in the time that is left, and what finds the one that is wanted."""
    chance = f"with a chance of {write(100 * CHANCE)} %"
    if reach.percent is None:
        said = f"too few fit into the budget to find a slowdown of one benchmark {chance}"
    else:
        said = f"{counted(reach.rounds, 'fresh round')} find a slowdown of {about(reach.percent)} % in one benchmark {chance}"
        if reach.percent <= reach.wanted:
            return said
    wanted = f"{about(reach.wanted)} %"
    if reach.budget is None:
        return f"{said}; {wanted} is below the noise of this bench"
    return f"{said}; {wanted} takes a budget of {duration_text(reach.budget)}"


def _exceeds(shift: float, n: int, spread: Array, error: float) -> Array:
    """Return the chance that Student's t of n values with this mean and these deviations is above its upper quantile.

    The noncentral distribution is approximated as in Abramowitz and Stegun 1964, 26.7.10.
    """
    freedoms = n - 1
    critical = float(special.stdtrit(freedoms, 1 - error))
    away = np.divide(
        shift * n**0.5, spread, out=np.full(spread.shape, inf * np.sign(shift)), where=spread > 0
    )
    reached = away - critical * (1 - 1 / (4 * freedoms))
    return np.fromiter(
        (float(special.ndtr(float(z))) for z in reached / (1 + critical**2 / (2 * freedoms)) ** 0.5), float
    )
