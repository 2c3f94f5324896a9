"""How long a series has to be so that periods average out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.harmonics import DAY, Candidate, name_of
from trialwise.statistics.seasonality_results import Period
from trialwise.statistics.timegrid import TimeSeries

if TYPE_CHECKING:
    from collections.abc import Sequence


MOST_MULTIPLES = 1000
# From so many cycles on, it no longer matters where in its last cycle a span ends.
MANY_CYCLES = 10
# Data shorter than this are about something faster than people's habits.
HUMAN_SCALE = DAY / 10


def recommended_span(periods: Sequence[float]) -> float | None:
    """Smallest multiple of the longest period that holds whole cycles of each.

    "Whole" means up to a tenth of a cycle, |S/P - round(S/P)| <= 0.1; from ten cycles on any remainder will
    do, since what is left of the last cycle weighs less than that anyway.

    Parameters
    ----------
    periods
        Seconds.

    Returns
    -------
    float or None
        Seconds; None without periods, and where the first 1,000 multiples hold none.
    """
    if not periods:
        return None
    spans = np.arange(1, MOST_MULTIPLES + 1) * max(periods)
    cycles = spans[:, None] / np.asarray(periods)
    whole = (np.abs(cycles - np.rint(cycles)) <= 0.1 + 1e-9) | (cycles >= MANY_CYCLES)
    fitting = np.flatnonzero(whole.all(axis=1))
    return float(spans[fitting[0]]) if fitting.size else None


def advise(
    series: TimeSeries, periods: Sequence[Period], untested: Sequence[Candidate]
) -> tuple[float | None, tuple[str, ...]]:
    """Give the span, and why: what was found, and what people's habits may add that no test can exclude."""
    names = " or ".join(f"a {name_of(human.seconds, 0.0)}" for human in untested)
    found = [period.seconds for period in periods]
    if not untested:
        return recommended_span(found), () if found else ("No period was found: nothing asks for a span.",)
    length = f"{series.values.size} values over {_readable(series.duration)}"
    if found and series.duration < HUMAN_SCALE:
        why = f"{length} can neither show nor exclude {names}: the span covers only the periods found."
        return recommended_span(found), (why,)
    span = recommended_span([*found, *(human.seconds for human in untested)])
    longest = max(human.seconds for human in untested)
    why = (
        f"{length} can neither show nor exclude {names} "
        f"(a period needs 1.9 cycles and more than two values in each): "
        f"the span covers a {name_of(longest, 0.0)} nevertheless."
    )
    return span, (why,)


def _readable(seconds: float) -> str:
    for unit, size in (("days", DAY), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} seconds"
