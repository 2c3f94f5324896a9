"""`trialwise import`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.long_tables import check_folders, write_long_tables
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.sources import Data, Factor, named_all
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import echo
from trialwise.errors import TrialwiseError
from trialwise.numbers import counted

if TYPE_CHECKING:
    from trialwise.exchange.imported import ImportRecord
    from trialwise.study.importing import Gained


def import_results(
    *data: Data,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    factor: Factor = None,
    csv: Path | None = None,
    parquet: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    r"""Import result files of other tools into a read-only directory, which every command reads as an experiment's.

    The directory keeps what `trialwise look` sees: treatments, metrics, units of replication, samples, failures, notes, and where each
    file came from. Order and times are kept where the files tell them; nothing is made up.

    For example:

    ```text
    trialwise import results/ -o study
    trialwise import base.json head.json -o study --factor '{side}.json'
    trialwise import results/ --csv runs.csv
    trialwise analyze study --objective percentile=50
    ```

    Exit codes: 0 done, also where the directory has the same already; 2 wrong options; 5 a place that cannot be written, or has
    something else; 7 nothing that can be read.

    Parameters
    ----------
    data
        Files of one tool, or folders with such files.
    out
        The new directory.
    factor
        How names of files give factors, as '{cc}_{rep}.json'; default guessed where the files do not tell.
    csv
        Write a row for each metric of each trial to this file, and the samples inside trials to NAME.samples.csv beside it.
    parquet
        Write the same as Parquet, and the samples to NAME.samples.parquet.
    json
        Print the origin as JSON (format trialwise.import/1).
    """
    if out is None and csv is None and parquet is None:
        raise TrialwiseError("it is not said where the results go", hint="add -o DIR, or --csv FILE")
    check_folders(out, csv, parquet)
    from trialwise.study.importing import gain

    with StatusLine(f"reading {named_all(data)}") as patience:
        found = gain(data, factor, lambda number: patience.say(f"read {counted(number, 'file')}"))
        record = _kept(found, out) if out is not None else None
        written = write_long_tables(found.group.readings, csv, parquet) if csv or parquet else []
    for path in written:
        stderr_console().print(f"wrote {path}", markup=False)
    if record is not None and out is not None:
        if json:
            print_json(record.model_dump(mode="json"))
        else:
            _say(record, found, out)
    return 0


def _kept(found: Gained, out: Path) -> ImportRecord:
    from trialwise.exchange.imported import write_import

    return write_import(out, found.group, found.pattern, found.gathered)


def _say(record: ImportRecord, found: Gained, out: Path) -> None:
    from trialwise.exchange.imported import said_of

    rows = sum(len(reading.rows) for reading in found.group.readings)
    echo(
        f"{out}: {counted(rows, 'row')} from {counted(len(record.files), 'file')} of {record.tool}, imported {record.imported}"
    )
    for note in said_of(record):
        echo(f"  {note}")
    echo(f"next: trialwise analyze {shlex.quote(str(out))}")
