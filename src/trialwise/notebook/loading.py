"""Load results into a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast
from weakref import finalize

from trialwise.errors import AnalysisError
from trialwise.experiment.model import Better, Measure
from trialwise.late import pl
from trialwise.notebook.data import Data
from trialwise.notebook.sources import Columns, Directory, Files, Source, Table
from trialwise.temporary import vanishing_folder


def load(
    *data: str | Path | object,
    factor: str | None = None,
    value: str | Sequence[str] = (),
    group: str | Sequence[str] = (),
    series: str | None = None,
    trial: str | None = None,
    time: str | None = None,
    measure: Measure = "mean",
    unit: Mapping[str, str] | None = None,
    better: Mapping[str, Better] | None = None,
) -> Data:
    """Load what was measured: by Trialwise, by another tool, or in a table.

    Parameters
    ----------
    data
        The path of an experiment directory, of files or folders of another tool (several are read together; see `trialwise look`), of
        a Pantheon folder, or of a table (CSV or Parquet) in long form; or a polars or pandas DataFrame in long form.
    factor
        How names of files give factors, as "{cc}_{rep}.json"; default guessed where the files do not tell.
    value
        Columns of a table that hold values, each a metric; default `value`, whose column `metric` names metrics.
    group
        Columns of a table that tell treatments apart; default `treatment`.
    series
        Column that tells series apart.
    trial
        Column that tells trials apart; then each row is a sample.
    time
        Column of times: of samples with `trial`, else of trials.
    measure
        What reduces samples: "mean", "median", "min", "max", or a percentile such as 95.
    unit
        Units by metric, where the data do not say them.
    better
        Which direction is better by metric: "higher" or "lower".

    Raises
    ------
    AnalysisError
        The data cannot be read, or are none of these.
    """
    columns = Columns(
        _names(value), _names(group), series, trial, time, measure, dict(unit or {}), dict(better or {})
    )
    if len(data) == 1 and not isinstance(data[0], str | Path):
        return Data(_of_frame(data[0], columns))
    paths = [Path(path) for path in data if isinstance(path, str | Path)]
    if not paths or len(paths) < len(data):
        raise AnalysisError("nothing to load", hint="name files, folders, or one DataFrame")
    return Data(_of_paths(paths, factor, columns))


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _of_paths(paths: Sequence[Path], factor: str | None, columns: Columns) -> Source:
    from trialwise.analysis.recorded import Recorded
    from trialwise.study import sources

    found = sources.source(paths, factor, told=columns.of_table)
    if isinstance(found, Recorded):
        return Files(found, columns)
    return (
        Directory(found.path, columns) if isinstance(found, sources.Directory) else Table(found.path, columns)
    )


def _of_frame(data: object, columns: Columns) -> Source:
    """Keep a DataFrame as a Parquet file for as long as it is used: tables have one reader."""
    frame = _polars(data)
    kept = ExitStack()
    path = kept.enter_context(vanishing_folder("trialwise-")) / "table.parquet"
    table = Table(path, columns, "table")
    finalize(table, kept.close)
    try:
        frame.write_parquet(path)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        raise AnalysisError(
            f"a column of the table cannot be read: {error}", hint="columns hold numbers, texts or times"
        ) from error
    return table


def _polars(data: object) -> pl.DataFrame:

    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    frame = cast("Any", data)
    if not (hasattr(frame, "columns") and hasattr(frame, "__getitem__")):
        raise AnalysisError(
            f"{type(data).__name__} is neither a path nor a DataFrame", hint="name a file, folder or table"
        )
    # Column by column: polars itself would need pyarrow.
    return pl.DataFrame({str(name): frame[name].to_list() for name in frame.columns})
