"""The long table of result files of other tools, as `look` and `import` write it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.cli.files import write_text
from trialwise.errors import TrialwiseError, not_written
from trialwise.whole_files import whole_file

if TYPE_CHECKING:
    import polars as pl

    from trialwise.readers.records import Reading


def check_folders(*places: Path | None) -> None:
    """Refuse places without a folder, before anything is read.

    Raises
    ------
    TrialwiseError
        There is no such folder.
    """
    for path in places:
        if path is not None and not path.absolute().parent.is_dir():
            raise TrialwiseError(
                f"{path}: there is no folder {path.parent}", hint="make it, or choose another place"
            )


def write_long_tables(readings: Sequence[Reading], csv: Path | None, parquet: Path | None) -> list[Path]:
    """Write a row for each metric of each trial, and the samples inside trials to NAME.samples beside it; return the files.

    Raises
    ------
    StoreError
        A file cannot be written.
    """
    from trialwise.exchange.csv_text import csv_text
    from trialwise.exchange.readings_tables import samples_table, trials_table

    trials, samples = trials_table(readings), samples_table(readings)
    # Samples first: a table without those that belong to it would look whole.
    tables = [("", trials)] if samples.is_empty() else [(".samples", samples), ("", trials)]
    written: list[Path] = []
    for ending, table in tables:
        if csv is not None:
            path = csv.with_name(f"{csv.stem}{ending}{csv.suffix}")
            write_text(path, csv_text(table.columns, table.iter_rows()))
            written.append(path)
        if parquet is not None:
            path = parquet.with_name(f"{parquet.stem}{ending}{parquet.suffix}")
            _write_parquet(path, table)
            written.append(path)
    return written


def _write_parquet(path: Path, table: pl.DataFrame) -> None:
    try:
        with whole_file(path) as aside:
            table.write_parquet(aside, compression="zstd")
    except OSError as error:
        raise not_written(path, error) from error
