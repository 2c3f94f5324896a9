"""Gather trials that other tools recorded, cell by cell, into a set that can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

import polars as pl

from trialwise.analysis.trial_set import SCHEMA, Boot, MetricFacts, TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Level

_ONE = "1"
"""The only series, and the only round."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a trial ran: names of its units. Equal names mean the same unit everywhere."""

    trial: str
    process: str
    host: str = ""
    boot: str = ""
    build: str = ""
    series: str = _ONE
    round: str = _ONE


@dataclass(slots=True)
class Cells:
    """Collects the values of trials of one source, and counts invalid ones."""

    name: str
    metrics: dict[str, MetricFacts] = field(default_factory=dict[str, MetricFacts])
    treatments: dict[str, Mapping[str, Level]] = field(default_factory=dict[str, Mapping[str, Level]])
    booted: dict[str, Boot] = field(default_factory=dict[str, Boot])
    _rows: list[tuple[object, ...]] = field(default_factory=list[tuple[object, ...]])
    _columns: list[pl.DataFrame] = field(default_factory=list[pl.DataFrame])
    _missing: Counter[str] = field(default_factory=Counter[str])

    def add(
        self,
        metric: str,
        treatment: str,
        value: float | None,
        place: Place,
        seconds: float | None = None,
        started: float | None = None,
    ) -> None:
        """Add one value of one trial; an invalid one is counted."""
        if value is None or not isfinite(value):
            self._missing[metric] += 1
            return
        units = (place.host, place.boot, place.build, place.process, place.trial)
        self._rows.append(
            (metric, treatment, float(value), *units, place.series, place.round, started, seconds)
        )

    def add_columns(self, **columns: pl.Series | pl.Expr | None) -> None:
        """Add values of many trials, as columns of `SCHEMA`: of one series and round; other columns are unknown."""
        given = {**columns, "series": pl.lit(_ONE), "round": pl.lit(_ONE)}
        found = [
            (pl.lit(None, kind) if (column := given.get(name)) is None else column).alias(name)
            for name, kind in SCHEMA.items()
        ]
        self._columns.append(pl.select(found))

    def trial_set(self, notes: Sequence[str] = ()) -> TrialSet:
        """Return what was collected.

        Raises
        ------
        AnalysisError
            There is no value.
        """
        if not self._rows and not self._columns:
            why = "; ".join(notes)
            raise AnalysisError(f"{self.name}: no trial has a value" + (f": {why}" if why else ""))
        return TrialSet(
            name=self.name,
            metrics=self.metrics,
            treatments=self.treatments,
            table=pl.concat([pl.DataFrame(self._rows, schema=SCHEMA, orient="row"), *self._columns]),
            notes=(*notes, *self._lost()),
            booted=self.booted,
        )

    def _lost(self) -> Iterator[str]:
        for metric, number in self._missing.items():
            yield f"{number} trial{'' if number == 1 else 's'} without a value of {metric}"
