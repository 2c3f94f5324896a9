"""Gather trials that other tools recorded, cell by cell, into a set that can be compared."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any

import numpy as np
import numpy.typing as npt

from trialwise.analysis.trial_set import LEVELS, SCHEMA, Boot, Level, MetricFacts, TrialSet, only
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Level as FactorLevel
from trialwise.late import pl

_ONE = "1"
"""The only series, and the only round."""
_NUMBER_BITS = 32
"""Of a numbered unit: no file has more lines; what remains tells its texts apart."""
NUMBERED = {
    "metric": pl.Categorical(),
    "treatment": pl.Categorical(),
    "value": pl.Float64(),
    "host": pl.UInt32(),
    "boot": pl.UInt32(),
    "build": pl.UInt32(),
    "process": pl.Int64(),
    "trial": pl.Int64(),
    "seconds": pl.Float64(),
}
"""The columns of a set whose units are numbered: equal numbers of a level mean the same unit, in this set alone."""
_NUMBERED = frozenset({"process", "trial"})
"""Levels of many units, whose names have numbers."""

_NAMED = ("metric", "treatment", *LEVELS, "round")
"""Columns of names."""

Floats = npt.NDArray[np.float64]
Which = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a trial ran: names of its units. Equal names mean the same unit everywhere."""

    trial: str
    process: str
    host: str = ""
    boot: str = ""
    build: str = ""
    round: str = _ONE


@dataclass(frozen=True, slots=True)
class Names:
    """A name for each of many trials: one of some texts, and what stands behind it where trials are numbered.

    Attributes
    ----------
    texts, which
        The different texts, and which of them each trial has; None if all have the first. Names of other trials may stand for the
        texts: those that these trials are parts of.
    numbers
        Non-negative; negative for a trial whose name is the text alone. None if all are so.
    around
        What stands before and behind a number.
    """

    texts: Sequence[Hashable] | Names
    which: Which | None = None
    numbers: npt.NDArray[np.integer[Any]] | None = None
    around: tuple[str, str] = ("", "")

    def written(self) -> pl.Expr:
        """Return the names as text."""
        text = _each(self._own(), self.which)
        if self.numbers is None:
            return text
        numbers = pl.lit(pl.Series(self.numbers))
        named = pl.concat_str(text, pl.lit(self.around[0]), numbers.cast(pl.String), pl.lit(self.around[1]))
        return pl.when(numbers >= 0).then(named).otherwise(text) if self.numbers.min() < 0 else named

    def few(self) -> pl.Expr:
        """Return names without numbers as text of which each is kept once."""
        return _each(self._own().cast(pl.Categorical), self.which)

    def _own(self) -> pl.Series:
        """Return each name once."""
        if isinstance(self.texts, Names):
            return _alone(self.texts.written())
        return pl.Series(self.texts, dtype=pl.String)

    @property
    def key(self) -> Hashable:
        """The same for names that are made of the same parts of memory; only while these are there."""
        texts = self.texts.key if isinstance(self.texts, Names) else tuple(self.texts)
        return texts, *map(_place_of, (self.which, self.numbers)), self.around

    def taken(self, rows: Which | slice) -> Names:
        """Return the names of these trials, of which one may be there several times."""
        return replace(
            self,
            which=None if self.which is None else self.which[rows],
            numbers=None if self.numbers is None else self.numbers[rows],
        )

    def coded(self, known: dict[object, int]) -> pl.Expr:
        """Return the number of each text; `known` has the texts so far."""
        return self._codes(self._keys(known), known)

    def numbered(self, known: dict[object, int]) -> pl.Expr:
        """Return a number for each name, the same for the same one; `known` has the texts so far."""
        if self.numbers is None:
            return self._unnumbered(known)
        # Whole numbers are the numbers of names that these trials are parts of.
        keys = (
            self._keys(known)
            if isinstance(self.texts, Names)
            else [(text, *self.around) for text in self.texts]
        )
        codes = np.array([_code(known, key) << _NUMBER_BITS for key in keys], np.int64)
        named = codes[0] + self.numbers if self.which is None else codes[self.which]
        if self.which is not None:
            named += self.numbers
        if self.numbers.min() >= 0:
            return pl.lit(pl.Series(named))
        is_numbered = pl.lit(pl.Series(self.numbers >= 0))
        return pl.when(is_numbered).then(pl.lit(pl.Series(named))).otherwise(self._unnumbered(known))

    def _unnumbered(self, known: dict[object, int]) -> pl.Expr:
        if isinstance(self.texts, Names):
            return _each(_alone(self.texts.numbered(known)), self.which)
        return self.coded(known).cast(pl.Int64) * (1 << _NUMBER_BITS)

    def _keys(self, known: dict[object, int]) -> Sequence[Hashable]:
        return _alone(self.texts.numbered(known)).to_list() if isinstance(self.texts, Names) else self.texts

    def _codes(self, keys: Sequence[Hashable], known: dict[object, int]) -> pl.Expr:
        return _each(pl.Series([_code(known, key) for key in keys], dtype=pl.UInt32), self.which)


@dataclass(frozen=True, slots=True)
class Trials:
    """Values of many trials of one series and round; `started` and `seconds` are NaN where unknown, or None for all."""

    metric: Names
    treatment: Names
    values: Floats
    units: Mapping[Level, Names]
    round: Names = Names((_ONE,))
    started: Floats | None = None
    seconds: Floats | None = None


class _Single:
    """Trials that are added one by one, or as several of one place: columns of the numbers of their names, in the order of adding."""

    def __init__(self) -> None:
        self._values = array("d")
        self._counts = array("q")
        self._texts: tuple[dict[str, int], ...] = tuple({} for _ in _NAMED)
        self._which = tuple(array("i") for _ in _NAMED)
        self._started, self._seconds = array("d"), array("d")

    def add(
        self,
        names: tuple[str, ...],
        values: Sequence[float | None],
        seconds: float | None,
        started: float | None,
    ) -> None:
        self._values.extend(nan if value is None else value for value in values)
        self._counts.append(len(values))
        for known, which, name in zip(self._texts, self._which, names, strict=True):
            which.append(known.setdefault(name, len(known)))
        self._started.append(nan if started is None else started)
        self._seconds.append(nan if seconds is None else seconds)

    def trials(self) -> Trials | None:
        """Return those that have a value; None if none has."""
        values = np.array(self._values)
        valid = np.isfinite(values)
        if not valid.any():
            return None
        counts = np.array(self._counts)
        within = np.arange(len(values), dtype=np.int32) - np.repeat(np.cumsum(counts) - counts, counts)
        within[np.repeat(counts == 1, counts)] = -1
        chosen = slice(None) if valid.all() else valid

        def every(column: array[Any]) -> npt.NDArray[Any]:
            return np.repeat(np.array(column), counts)[chosen]

        names = {
            name: Names(tuple(texts), every(which) if len(texts) > 1 else None)
            for name, texts, which in zip(_NAMED, self._texts, self._which, strict=True)
        }
        if (within >= 0).any():
            names["trial"] = replace(names["trial"], numbers=within[chosen], around=("/", ""))
        return Trials(
            metric=names["metric"],
            treatment=names["treatment"],
            values=values[chosen],
            units={level: names[level] for level in LEVELS},
            round=names["round"],
            started=every(self._started),
            seconds=every(self._seconds),
        )

    def missing(self) -> dict[str, int]:
        """Count the invalid values of each metric that has some."""
        invalid = ~np.isfinite(np.array(self._values))
        metrics = np.repeat(np.array(self._which[0]), np.array(self._counts))[invalid]
        counts = np.bincount(metrics, minlength=len(self._texts[0])).tolist()
        return {name: number for name, number in zip(self._texts[0], counts, strict=True) if number}


@dataclass(slots=True)
class Cells:
    """Collects the values of trials of one source, and counts invalid ones."""

    name: str
    metrics: dict[str, MetricFacts] = field(default_factory=dict[str, MetricFacts])
    treatments: dict[str, Mapping[str, FactorLevel]] = field(
        default_factory=dict[str, Mapping[str, FactorLevel]]
    )
    booted: dict[str, Boot] = field(default_factory=dict[str, Boot])
    _single: _Single = field(default_factory=_Single)
    _many: list[Trials] = field(default_factory=list[Trials])

    def add(
        self,
        metric: str,
        treatment: str,
        values: Sequence[float | None],
        place: Place,
        seconds: float | None = None,
        started: float | None = None,
    ) -> None:
        """Add one value of one trial, or several of one place, each as a trial; an invalid one is counted."""
        names = (
            metric,
            treatment,
            place.host,
            place.boot,
            place.build,
            place.process,
            place.trial,
            place.round,
        )
        self._single.add(names, values, seconds, started)

    def add_many(self, trials: Trials) -> None:
        """Add values of many trials, all valid, which come after those that are added one by one."""
        self._many.append(trials)

    def trial_set(self, notes: Sequence[str] = ()) -> TrialSet:
        """Return what was collected.

        Raises
        ------
        AnalysisError
            There is no value.
        """
        return self._set(notes, map(_frame, self._every()), self.booted)

    def numbered_set(self, notes: Sequence[str], boots: Mapping[str, str]) -> TrialSet:
        """Return what was collected, with the columns of `NUMBERED`, which take a fifth of the memory; `boots` have these names.

        Raises
        ------
        AnalysisError
            There is no value.
        """
        known: dict[object, int] = {}
        for boot, name in boots.items():
            known[boot] = known.setdefault(name, len(known))
        numbering = _Numbering(known)
        return self._set(notes, map(numbering.frame, self._every()), {})

    def _every(self) -> Iterator[Trials]:
        if (single := self._single.trials()) is not None:
            yield single
        yield from self._many

    def _set(
        self, notes: Sequence[str], frames: Iterable[pl.DataFrame], booted: Mapping[str, Boot]
    ) -> TrialSet:
        found = list(frames)
        if not found:
            why = "; ".join(notes)
            raise AnalysisError(f"{self.name}: no trial has a value" + (f": {why}" if why else ""))
        return TrialSet(
            name=self.name,
            metrics=self.metrics,
            treatments=self.treatments,
            table=_joined(found),
            notes=(*notes, *self._lost()),
            booted=booted,
        )

    def _lost(self) -> Iterator[str]:
        for metric, number in self._single.missing().items():
            yield f"{number} trial{'' if number == 1 else 's'} without a value of {metric}"


def _joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put frames one below the other; columns that have the same in all rows take no memory then, as in a single frame."""
    first, *others = frames
    if not others:
        return first
    alone = {name: only(first, name) for name in first.columns}
    same = {
        name: one[0]
        for name, one in alone.items()
        if one is not None and all(only(frame, name) == one for frame in others)
    }
    varying = pl.concat([frame.drop(same) for frame in frames])
    constants = (pl.lit(value, first.schema[name]).alias(name) for name, value in same.items())
    return varying.with_columns(constants).select(first.columns)


def _code(known: dict[object, int], key: Hashable) -> int:
    return known.setdefault(key, len(known))


def _place_of(column: npt.NDArray[Any] | None) -> Hashable:
    """Return where an array lies in memory."""
    return None if column is None else (column.ctypes.data, column.shape, column.strides, column.dtype.str)


def _alone(column: pl.Expr) -> pl.Series:
    return pl.select(column).to_series()


def _each(values: pl.Series, which: Which | None) -> pl.Expr:
    return pl.lit(values[0], values.dtype) if which is None else pl.lit(values.gather(which))


def known_numbers(column: Floats | None) -> pl.Expr:
    """Return a column in which what is NaN is missing."""
    return pl.lit(None, pl.Float64) if column is None else pl.lit(pl.Series(column).fill_nan(None))


def _frame(trials: Trials) -> pl.DataFrame:
    """Return the columns of `SCHEMA`."""
    found = {
        "metric": trials.metric.written(),
        "treatment": trials.treatment.written(),
        "value": pl.lit(pl.Series(trials.values)),
        **{level: names.written() for level, names in trials.units.items()},
        "series": pl.lit(_ONE),
        "round": trials.round.written(),
        "started": known_numbers(trials.started),
        "seconds": known_numbers(trials.seconds),
    }
    return pl.select(found[name].alias(name) for name in SCHEMA)


class _Numbering:
    """Makes frames with the columns of `NUMBERED`: metrics of the same trials share the columns that name their units."""

    def __init__(self, known: dict[object, int]) -> None:
        self._known = known
        self._orders: dict[Hashable, tuple[Names, Which | None]] = {}
        """By the keys of names, which are kept so that no others get their place in memory."""
        self._columns: dict[Hashable, tuple[Names, pl.Series]] = {}

    def frame(self, trials: Trials) -> pl.DataFrame:
        """Return trials by treatment, those of each in their order: the rows of a treatment are then a part that needs no copy."""
        order = trials.treatment.key if trials.treatment.which is not None else None
        rows = self._rows(trials.treatment)

        def column(names: Names, make: Callable[[], pl.Expr]) -> pl.Expr:
            if names.which is None and names.numbers is None:
                return make()
            key = names.key, order
            if key not in self._columns:
                made = _alone(make())
                self._columns[key] = names, made if rows is None else made.gather(rows)
            return pl.lit(self._columns[key][1])

        def level(name: Level, names: Names) -> pl.Expr:
            of = names.numbered if name in _NUMBERED else names.coded
            return column(names, lambda: of(self._known))

        values = pl.lit(pl.Series(_taken(trials.values, rows)))
        seconds = None if trials.seconds is None else _taken(trials.seconds, rows)
        found = {
            "metric": trials.metric.few(),
            "treatment": column(trials.treatment, trials.treatment.few),
            "value": values,
            **{name: level(name, names) for name, names in trials.units.items()},
            "seconds": values if trials.seconds is trials.values else known_numbers(seconds),
        }
        return pl.select(found[name].cast(kind).alias(name) for name, kind in NUMBERED.items())

    def _rows(self, treatment: Names) -> Which | None:
        """Return the rows by treatment; None if they are so already."""
        which = treatment.which
        if which is None or (which[1:] >= which[:-1]).all():
            return None
        if (key := treatment.key) not in self._orders:
            short = which.astype(
                np.min_scalar_type(int(which.max()))
            )  # of two bytes at most, it is sorted in linear time
            self._orders[key] = treatment, np.argsort(short, kind="stable").astype(np.uint32)
        return self._orders[key][1]


def _taken(column: Floats, rows: Which | None) -> Floats:
    return column if rows is None else column[rows]
