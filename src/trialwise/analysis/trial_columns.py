"""Trials and their observations as columns: a million of them as objects take minutes and gigabytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.analysis.observations import Observation
from trialwise.arrays import Array
from trialwise.columns import Columns
from trialwise.experiment.model import Level

Whole = npt.NDArray[np.integer[Any]]
Kind = tuple[str, Mapping[str, Level]]
"""A treatment: its name and its factors."""
Cells = tuple[int, int, str, Mapping[str, Level], str, int, int, float | None]


@dataclass(frozen=True, slots=True)
class TrialMetric:
    """The metric of one trial. `value` is None, with a `reason`, if the trial's samples do not yield one."""

    number: int
    attempt: int
    treatment: str
    factors: Mapping[str, Level]
    series: str
    round: int
    position: int
    started: float | None
    samples: int
    value: float | None
    converged: bool | None
    convergence: st.Convergence | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Which trials these are and where they stand: the fields with which an observation begins, as columns.

    `kinds` and `labels` have the different treatments and series; `kind` and `series` say which of them each trial has. `started` is
    NaN where unknown, and None if it is so everywhere.
    """

    number: Whole
    attempt: Whole
    kinds: Sequence[Kind]
    kind: Whole
    labels: Sequence[str]
    series: Whole
    round: Whole
    position: Whole
    started: Array | None

    @staticmethod
    def of(trials: Sequence[TrialMetric]) -> Places:
        """Return the places of trials."""
        kinds: dict[tuple[str, str], Kind] = {}
        numbers: dict[tuple[str, str], int] = {}
        labels: dict[str, int] = {}
        # Of factors, 1 and 1.0 and True are different ones.
        keys = [(one.treatment, repr(dict(one.factors))) for one in trials]
        for key, one in zip(keys, trials, strict=True):
            kinds.setdefault(key, (one.treatment, one.factors))
        return Places(
            number=_whole(one.number for one in trials),
            attempt=_whole(one.attempt for one in trials),
            kind=_whole(numbers.setdefault(key, len(numbers)) for key in keys),
            kinds=list(kinds.values()),
            series=_whole(labels.setdefault(one.series, len(labels)) for one in trials),
            labels=list(labels),
            round=_whole(one.round for one in trials),
            position=_whole(one.position for one in trials),
            started=_with_gaps([one.started for one in trials]),
        )

    def __len__(self) -> int:
        return len(self.number)

    def cells(self, begin: int, end: int) -> Iterator[Cells]:
        """Yield these fields of some trials."""
        rows = slice(begin, end)
        started = [None] * (end - begin) if self.started is None else _without_gaps(self.started[rows])
        columns = (self.number, self.attempt, self.kind, self.series, self.round, self.position)
        rows_of_cells = zip(*(column[rows].tolist() for column in columns), strict=True)
        for cells, began in zip(rows_of_cells, started, strict=True):
            number, attempt, kind, series, turn, position = cast("tuple[int, int, int, int, int, int]", cells)
            name, factors = self.kinds[kind]
            yield number, attempt, name, factors, self.labels[series], turn, position, began

    def groups(self, chosen: npt.NDArray[np.intp]) -> dict[tuple[str, str], npt.NDArray[np.intp]]:
        """Divide some trials by treatment and series, in the order of the first trial of each."""
        names = list(dict.fromkeys(name for name, _ in self.kinds))
        place = {name: number for number, name in enumerate(names)}
        treatment = np.array([place[name] for name, _ in self.kinds], np.int64)[self.kind[chosen]]
        codes, first, which = np.unique(
            treatment * len(self.labels) + self.series[chosen], return_index=True, return_inverse=True
        )
        members = np.split(
            np.argsort(which, kind="stable"), np.cumsum(np.bincount(which, minlength=len(codes)))[:-1]
        )
        return {
            (
                names[int(codes[each]) // len(self.labels)],
                self.labels[int(codes[each]) % len(self.labels)],
            ): chosen[members[each]]
            for each in np.argsort(first)
        }

    @property
    def treatments(self) -> list[str]:
        """The treatments, in the order of the first trial of each."""
        return list(dict.fromkeys(name for name, _ in self.first_kinds()))

    def first_kinds(self) -> Iterator[Kind]:
        """Yield the treatments with their factors, in the order of the first trial of each kind."""
        yield from (self.kinds[int(self.kind[place])] for place in _firsts(self.kind))

    @property
    def all_series(self) -> list[str]:
        """The series, in the order of the first trial of each."""
        return [self.labels[int(self.series[place])] for place in _firsts(self.series)]


class Observed(Columns[Observation]):
    """Observations: the samples of a trial lie between two of the `bounds`; `times` are None if samples have none."""

    record: ClassVar[type] = Observation
    __slots__ = ("bounds", "places", "times", "values")

    def __init__(self, places: Places, values: Array, bounds: Whole, times: Array | None) -> None:
        self.places, self.values, self.bounds, self.times = places, values, bounds, times

    def __len__(self) -> int:
        return len(self.places)

    def made(self, begin: int, end: int) -> Iterator[Observation]:
        """Make the observations of some trials."""
        bounds = self.bounds[begin : end + 1].tolist()
        for cells, first, last in zip(self.places.cells(begin, end), bounds[:-1], bounds[1:], strict=True):
            times = None if self.times is None else self.times[first:last]
            yield Observation(*cells, values=self.values[first:last], times=times)


class Trials(Columns[TrialMetric]):
    """A metric of trials.

    `missing` says of those without a value why, and `tested` has the tests of convergence; both by the place of the trial.
    """

    record: ClassVar[type] = TrialMetric
    __slots__ = ("missing", "places", "samples", "tested", "values")

    def __init__(
        self,
        places: Places,
        samples: Whole,
        values: Array,
        missing: Mapping[int, str | None],
        tested: Mapping[int, tuple[bool | None, st.Convergence | None]],
    ) -> None:
        self.places, self.samples, self.values = places, samples, values
        self.missing, self.tested = missing, tested

    @staticmethod
    def of(trials: Iterable[TrialMetric]) -> Trials:
        """Return these trials."""
        own = list(trials)
        return Trials(
            Places.of(own),
            _whole(one.samples for one in own),
            np.array([np.nan if one.value is None else one.value for one in own], np.float64),
            {place: one.reason for place, one in enumerate(own) if one.value is None},
            {
                place: (one.converged, one.convergence)
                for place, one in enumerate(own)
                if one.converged is not None or one.convergence is not None
            },
        )

    def __len__(self) -> int:
        return len(self.places)

    def made(self, begin: int, end: int) -> Iterator[TrialMetric]:
        """Make the records of some trials."""
        columns = (self.samples[begin:end].tolist(), self.values[begin:end].tolist())
        for place, cells, samples, value in zip(
            range(begin, end), self.places.cells(begin, end), *columns, strict=True
        ):
            own = None if place in self.missing else value
            yield TrialMetric(
                *cells, samples, own, *self.tested.get(place, (None, None)), self.missing.get(place)
            )

    @property
    def valued(self) -> npt.NDArray[np.intp]:
        """The places of trials with a value."""
        known = np.ones(len(self), np.bool_)
        known[list(self.missing)] = False
        return np.flatnonzero(known)

    def by_treatment(self) -> dict[str, list[float]]:
        """Return the values of each treatment, in the order of the trials."""
        found: dict[str, list[npt.NDArray[np.intp]]] = {}
        for (treatment, _), places in self.places.groups(self.valued).items():
            found.setdefault(treatment, []).append(places)
        return {name: self.values[np.sort(np.concatenate(parts))].tolist() for name, parts in found.items()}

    def in_series(self) -> dict[tuple[str, str], npt.NDArray[np.intp]]:
        """Return the places of the trials with a value by treatment and series, in the order in which they ran; empty ones, too."""
        began = self.places.started
        valued = self.places.groups(self.valued)
        found: dict[tuple[str, str], npt.NDArray[np.intp]] = {}
        for key in self.places.groups(np.arange(len(self))):
            places = valued.get(key, np.zeros(0, np.intp))
            keys = [self.places.number[places]]
            if began is not None:
                own = began[places]
                keys += [np.nan_to_num(own, nan=0.0, posinf=np.inf, neginf=-np.inf), np.isnan(own)]
            found[key] = places[np.lexsort(keys)]
        return found


def _firsts(codes: Whole) -> list[int]:
    """Return the first place of each code, in order."""
    return np.sort(np.unique(codes, return_index=True)[1]).tolist()


def _whole(numbers: Iterable[int]) -> Whole:
    return np.fromiter(numbers, np.int64)


def _with_gaps(numbers: Sequence[float | None]) -> Array | None:
    if all(each is None for each in numbers):
        return None
    return np.array([np.nan if each is None else each for each in numbers], np.float64)


def _without_gaps(numbers: Array) -> list[float | None]:
    known = np.isnan(numbers)
    return [None if gap else each for each, gap in zip(numbers.tolist(), known.tolist(), strict=True)]
