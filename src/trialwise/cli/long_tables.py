"""The long table of result files of other tools, as `look` and `import` write it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.cli.output import stderr_console
from trialwise.errors import TrialwiseError
from trialwise.whole_files import is_special, whole_files

if TYPE_CHECKING:
    from trialwise.exchange.table_parts import TableParts
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

    All of them replace those of an earlier call, of which samples are emptied where the trials have none. Nothing goes
    beside a special file, as /dev/stdout.

    Raises
    ------
    StoreError
        A file cannot be written; those of an earlier call are still there.
    """
    from trialwise.exchange.readings_tables import samples_parts, trials_parts

    trials, samples = trials_parts(readings), samples_parts(readings)
    is_sampled = any(not part.is_empty() for part in samples.made())
    ways = [
        (path, write) for path, write in ((csv, _write_csv), (parquet, _write_parquet)) if path is not None
    ]
    beside = [(_samples_of(path), write) for path, write in ways if not is_special(path)]
    if is_sampled and len(beside) < len(ways):
        stderr_console().print("samples inside trials are left out: name a file, beside which they go")
    wanted = [(path, write, samples) for path, write in beside if is_sampled or path.exists()]
    wanted += [(path, write, trials) for path, write in ways]
    with whole_files([path for path, _, _ in wanted]) as asides:
        for aside, (_, write, table) in zip(asides, wanted, strict=True):
            write(aside, table)
    return [path for path, _, _ in wanted]


def _samples_of(path: Path) -> Path:
    return path.with_name(f"{path.stem}.samples{path.suffix}")


def _write_csv(path: Path, table: TableParts) -> None:
    from trialwise.exchange.csv_text import write_table

    write_table(path, table.joined())


def _write_parquet(path: Path, table: TableParts) -> None:
    table.write(path)
