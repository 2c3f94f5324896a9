"""How long a series has to be so that periods average out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trialwise.numbers import about
from trialwise.statistics.time.harmonics import DAY, Candidate, name_of
from trialwise.statistics.time.seasonality_results import Period
from trialwise.statistics.time.timegrid import TimeSeries

if TYPE_CHECKING:
    from collections.abc import Sequence


# From so many cycles on, it no longer matters where in its last cycle a span ends.
MANY_CYCLES = 10
# Data shorter than this are about something faster than people's habits.
HUMAN_SCALE = DAY / 10


def recommended_span(periods: Sequence[float], most: float | None = None) -> float | None:
    """Smallest multiple of the longest period that holds whole cycles of each.

    "Whole" means up to a tenth of a cycle, |S/P - round(S/P)| <= 0.1; from ten cycles on any remainder will
    do, since what is left of the last cycle weighs less than that anyway: so no span is longer than ten of the longest
    period.

    Parameters
    ----------
    periods
        Seconds.
    most
        Seconds that a span should not exceed, as those of the record; but it is never shorter than the longest period. Where
        no span up to it holds whole cycles of each period, it is the one whose largest remainder weighs least.

    Returns
    -------
    float or None
        Seconds; None without periods.
    """
    if not periods:
        return None
    spans = np.arange(1, MANY_CYCLES + 1) * max(periods)
    if most is not None:
        spans = spans[: max(1, int(most / max(periods) + 1e-9))]
    cycles = spans[:, None] / np.asarray(periods)
    remainders = np.abs(cycles - np.rint(cycles))
    whole = (remainders <= 0.1 + 1e-9) | (cycles >= MANY_CYCLES)
    fitting = np.flatnonzero(whole.all(axis=1))
    best = fitting[0] if fitting.size else np.argmin((remainders / cycles).max(axis=1))
    return float(spans[best])


def advise(
    series: TimeSeries, periods: Sequence[Period], untested: Sequence[Candidate]
) -> tuple[float | None, tuple[str, ...]]:
    """Give the span, and why: what was found, and what people's habits may add that no test can exclude."""
    names = " or ".join(f"a {name_of(human.seconds, 0.0)}" for human in untested)
    found = [period.seconds for period in periods]
    if not untested:
        span = recommended_span(found, series.duration)
        return span, _cut(found, span) if found else ("No period was found: nothing asks for a span.",)
    length = f"{series.values.size} values over {_readable(series.duration)}"
    if found and series.duration < HUMAN_SCALE:
        why = f"{length} can neither show nor exclude {names}: the span covers only the periods found."
        span = recommended_span(found, series.duration)
        return span, (why, *_cut(found, span))
    covered = [*found, *(human.seconds for human in untested)]
    span = recommended_span(covered, series.duration)
    longest = max(human.seconds for human in untested)
    why = (
        f"{length} can neither show nor exclude {names} "
        f"(a period needs 1.9 cycles and more than two values in each): "
        f"the span covers a {name_of(longest, 0.0)} nevertheless."
    )
    return span, (why, *_cut(covered, span))


def _cut(periods: Sequence[float], span: float | None) -> tuple[str, ...]:
    """Say which periods the span does not hold in whole cycles, because a span that does would be longer than the record."""
    if span is None:
        return ()
    cycles = {period: span / period for period in periods}
    cut = [
        f"{_readable(period)} ({about(number)})"
        for period, number in cycles.items()
        if number < MANY_CYCLES and abs(number - round(number)) > 0.1 + 1e-9
    ]
    if not cut:
        return ()
    return (f"No span within the record holds whole cycles of every period: it cuts {', '.join(cut)}.",)


def _readable(seconds: float) -> str:
    for unit, size in (("days", DAY), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= size:
            return f"{about(seconds / size)} {unit}"
    return f"{about(seconds)} seconds"
