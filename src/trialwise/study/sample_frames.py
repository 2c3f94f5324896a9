"""Samples of an experiment directory as a lazy frame, for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from trialwise.analysis.observations import Observation, StoreObservations
from trialwise.analysis.recorded import Recorded, Samples
from trialwise.analysis.trial_set import chosen_metrics
from trialwise.errors import AnalysisError
from trialwise.late import pl
from trialwise.store.samples import TOGETHER
from trialwise.study.locating import opened

SCHEMA = {
    "trial": pl.Int64,
    "treatment": pl.String,
    "series": pl.String,
    "round": pl.Int64,
    "position": pl.Int64,
    "time": pl.Float64,
    "value": pl.Float64,
}


def lazy_samples(path: Path, metric: str) -> pl.LazyFrame:
    """Return the samples of a metric in each finished trial, without warm-up; files are read as rows are asked for.

    `time` is in seconds, null where the trial gave none.

    Raises
    ------
    AnalysisError
        The metric is not in the experiment.
    """
    with opened(path) as (experiment, _, _):
        chosen_metrics(experiment, [metric])

    def rows(
        columns: list[str] | None, predicate: pl.Expr | None, most: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        left = most
        for frame in _frames(path, metric):
            found = frame if left is None else frame.head(left)
            left = None if left is None else left - found.height
            found = found if predicate is None else found.filter(predicate)
            yield found if columns is None else found.select(columns)
            if left == 0:
                return

    from polars.io.plugins import register_io_source  # noqa: TID251  a part that is not imported with the whole

    return register_io_source(rows, schema=SCHEMA)


def recorded_samples(found: Recorded, metric: str) -> pl.LazyFrame:
    """Return the samples that other programs recorded of a metric; `process` names the trial, `time` is in seconds.

    Raises
    ------
    AnalysisError
        The metric does not exist, or has no samples inside trials.
    """
    found.check([metric])
    parts = [_recorded(each) for each in found.samples if each.metric == metric]
    if not parts:
        raise AnalysisError(
            f"{found.trials.name}: holds one value of {metric} for each trial, and no samples inside it",
            hint="see .trials",
        )
    return pl.concat(parts).lazy()


def _recorded(each: Samples) -> pl.DataFrame:
    times = [None] * len(each.values) if each.times is None else each.times
    frame = pl.DataFrame({"time": times, "value": each.values}, schema_overrides=SCHEMA)
    return frame.select(
        pl.lit(each.process).alias("process"), pl.lit(each.treatment).alias("treatment"), "time", "value"
    )


def _frames(path: Path, metric: str) -> Iterator[pl.DataFrame]:
    """Yield the samples of a few trials at a time."""
    with opened(path) as (experiment, directory, ledger):
        store = StoreObservations(experiment, directory, ledger)
        (wanted,) = chosen_metrics(experiment, [metric])
        trials = store.each(wanted)
        while part := list(islice(trials, TOGETHER)):
            yield pl.concat(map(_frame, part))


def _frame(one: Observation) -> pl.DataFrame:
    times = [None] * len(one.values) if one.times is None else one.times
    known = {
        "trial": one.number,
        "treatment": one.treatment,
        "series": one.series,
        "round": one.round,
        "position": one.position,
    }
    frame = pl.DataFrame({"time": times, "value": one.values}, schema_overrides=SCHEMA)
    return frame.select(*(pl.lit(known[name], SCHEMA[name]).alias(name) for name in known), "time", "value")
