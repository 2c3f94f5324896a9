"""A metric over commits or days: its series, where their level changes, and by how much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import median
from typing import Literal

from trialwise import statistics as st
from trialwise.experiment.model import Better

By = Literal["commit", "date"]
LEVEL = 0.05
"""False-positive rate of all series together."""
_CALENDAR = (-62_135_596_800, 253_402_300_800)
"""The Unix times from the year 1 on, and before the year 10,000."""
_WORD: Mapping[tuple[Better, bool], Literal["better", "worse"]] = {
    ("lower", False): "better",
    ("lower", True): "worse",
    ("higher", False): "worse",
    ("higher", True): "better",
}
"""What a change means, by what is better and whether the level rose."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One value of one metric, with the commit (empty if unknown) and the Unix time (None if unknown) that it belongs to."""

    metric: str
    unit: str
    better: Better | None
    subject: str
    machine: str
    commit: str
    time: float | None
    value: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """A commit or day: the median of its `n` values."""

    at: str
    value: float
    n: int


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level between the neighbouring points `last` and `first`, which is the point of index `point`.

    `percent` is Hodges and Lehmann's shift in percent of the median before, with bounds at 95 % that take the place as known; None if
    that median is not positive. `p_value` is adjusted for the number of series. `meaning` is empty where nobody says what is better.
    """

    last: str
    first: str
    point: int
    before: float
    after: float
    percent: float | None
    low: float | None
    high: float | None
    p_value: float
    meaning: Literal["better", "worse", ""]


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one subject on one machine.

    `drift` is the change in percent from the first to the last point where the level moves along a line instead of changing at places.
    `correlation` is that of neighbouring points. `undecided` says that there would be a change, were neighbours known to be no more
    alike than they look, but that points are too few to know. `more` is the number of further points that are needed before any change
    could be found. `gaps` counts points of other series that this one lacks, and values that are missing.
    """

    metric: str
    unit: str
    better: Better | None
    subject: str
    machine: str
    points: tuple[Point, ...]
    changes: tuple[Change, ...]
    drift: float | None
    drift_p_value: float | None
    correlation: float
    undecided: bool
    more: int
    gaps: int

    @property
    def name(self) -> str:
        """Metric and subject, each once."""
        return self.metric if self.subject in ("", "-", self.metric) else f"{self.subject}: {self.metric}"


@dataclass(frozen=True, slots=True)
class History:
    """All series: by what, in which order and why, and the rate of false positives of all of them together.

    `tested` is the number of series that are long enough.
    """

    by: By
    order: str
    series: tuple[Series, ...]
    level: float
    tested: int
    method: str
    notes: tuple[str, ...]


def history(
    measurements: Iterable[Measurement], by: By, order: Sequence[str], why: str, notes: Sequence[str] = ()
) -> History:
    """Put measurements in order, and look for changes of level.

    Parameters
    ----------
    order
        The commits in their order; of measurements by date, it is not used.
    why
        What the order rests on.
    """
    places = {commit: place for place, commit in enumerate(order)}
    cells: dict[tuple[str, str, Better | None, str, str], dict[str, list[float]]] = {}
    missing: dict[object, int] = {}
    for each in measurements:
        key = (each.metric, each.unit, each.better, each.subject, each.machine)
        at = each.commit if by == "commit" else day_of(each.time)
        own = cells.setdefault(key, {})
        if at and each.value is not None:
            own.setdefault(at, []).append(each.value)
        else:
            missing[key] = missing.get(key, 0) + 1
    all_points = {at for own in cells.values() for at in own}
    series = [
        Series(
            *key, points=_points(own, places if by == "commit" else None), changes=(), drift=None, drift_p_value=None,
            correlation=0.0, undecided=False, more=0, gaps=missing.get(key, 0) + len(all_points) - len(own),
        )
        for key, own in cells.items() if own
    ]  # fmt: skip
    return _judged(History(by, why, tuple(series), LEVEL, 0, "", tuple(notes)))


def day_of(time: float | None) -> str:
    """Return the day of a Unix time as ISO 8601 (UTC); empty if there is none, as for no number or one that no calendar has."""
    if time is None or not _CALENDAR[0] <= time < _CALENDAR[1]:
        return ""
    return datetime.fromtimestamp(time, UTC).date().isoformat()


def _points(own: Mapping[str, Sequence[float]], places: Mapping[str, int] | None) -> tuple[Point, ...]:
    ordered = sorted(own) if places is None else sorted(own, key=lambda at: places[at])
    return tuple(Point(at, median(own[at]), len(own[at])) for at in ordered)


def _judged(found: History) -> History:
    """Look for changes in each series that is long enough, at a level that bounds the false positives of all of them."""
    tested = sum(len(each.points) >= st.values_needed(found.level) for each in found.series)
    alpha = found.level / max(tested, 1)
    needed = st.values_needed(alpha)
    series = tuple(_with_changes(each, alpha, found.level / alpha, needed) for each in found.series)
    return replace(found, series=series, tested=tested, method="seeded binary segmentation of normal scores")


def _with_changes(series: Series, alpha: float, tests: float, needed: int) -> Series:
    if len(series.points) < needed:
        return replace(series, more=needed - len(series.points))
    found = st.change_points([point.value for point in series.points], alpha=alpha)
    drift = found.drift
    start = series.points[0].value
    return replace(
        series,
        changes=tuple(_changes(series, found, tests)),
        drift=None if drift is None or start <= 0 else 100 * drift.change / start,
        drift_p_value=None if drift is None else min(1.0, tests * drift.p_value),
        correlation=found.correlation,
        undecided=found.is_undecided,
    )


def _changes(series: Series, found: st.ChangePoints, tests: float) -> Iterator[Change]:
    for each in found.changes:
        scale = 100 / each.before if each.before > 0 else None
        percent, low, high = (
            None if scale is None else end * scale for end in (each.shift, each.low, each.high)
        )
        yield Change(
            last=series.points[each.at - 1].at,
            first=series.points[each.at].at,
            point=each.at,
            before=each.before,
            after=each.after,
            percent=percent,
            low=low,
            high=high,
            p_value=min(1.0, tests * each.p_value),
            meaning=_WORD[series.better, each.shift > 0] if series.better else "",
        )
