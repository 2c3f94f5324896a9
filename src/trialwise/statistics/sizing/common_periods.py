"""The length of a series over which periods average out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trialwise.numbers import about
from trialwise.statistics.time.harmonics import DAY, Candidate, name_of
from trialwise.statistics.time.seasonality_results import Period
from trialwise.statistics.time.timegrid import TimeSeries

if TYPE_CHECKING:
    from collections.abc import Sequence


# From this number of cycles on, it does not matter where in its last cycle a span ends.
MANY_CYCLES = 10
# Shorter data are about something faster than human routines.
HUMAN_SCALE = DAY / 10


def recommended_span(periods: Sequence[float], most: float | None = None) -> float | None:
    """Find the smallest multiple of the longest period that contains whole cycles of each.

    "Whole" means up to a tenth of a cycle, |S/P - round(S/P)| <= 0.1; from ten cycles on any remainder is accepted, since it is a
    smaller share than that, so no span exceeds ten of the longest period.

    Parameters
    ----------
    periods
        Seconds.
    most
        Seconds that the span should not exceed, such as the record's; the span is never shorter than the longest period. If no span
        up to this contains whole cycles of each period, the one with the smallest maximum remainder is returned.

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
    """Return the span and its reasons: what was found, and which human routines no test can exclude."""
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
    """Name the periods without whole cycles in the span, because a span with whole cycles would exceed the record."""
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
