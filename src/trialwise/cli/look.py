"""`trialwise look`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.long_tables import check_folders, write_long_tables
from trialwise.cli.output import stderr_console
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import AnalysisError, TrialwiseError
from trialwise.numbers import counted

if TYPE_CHECKING:
    from trialwise.study.looking import LookedAt


def look(
    *paths: Path,
    factor: str | None = None,
    csv: Path | None = None,
    parquet: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    r"""Look at result files of other tools: which treatment is best, by how much, and what the data cannot say.

    Files and folders may be mixed: each format is recognised by its content. Nothing is written
    unless a table is asked for.

    For example:

    ```text
    trialwise look results/
    trialwise look old.txt new.txt
    trialwise look results/ --csv runs.csv
    trialwise look results/ --factor '{cc}_{rate}_{rep}.json'
    ```

    Exit codes: 0 done, 2 wrong options, 7 nothing that can be read.

    Parameters
    ----------
    paths
        Files, or folders with such files.
    factor
        How names of files give factors; {rep} is the number of a repetition. Default guessed, and shown.
    csv
        Write a row for each metric of each trial to this file, and the samples inside trials to NAME.samples.csv beside it.
    parquet
        Write the same as Parquet, and the samples to NAME.samples.parquet.
    json
        Print all rows and what was seen as JSON (format trialwise.look/1, docs/reference/look-json.md).
    """
    if not paths:
        raise TrialwiseError("no path is named", hint="write trialwise look FILE… or a folder")
    check_folders(csv, parquet)
    from trialwise.study.looking import look as look_at

    with StatusLine(f"reading {paths[0]}") as patience:
        found = look_at(paths, factor, lambda number: patience.say(f"read {counted(number, 'file')}"))
    for path in _write_tables(found, csv, parquet) if csv or parquet else []:
        stderr_console().print(f"wrote {path}", markup=False)
    if json:
        from trialwise.exchange.look_json import look_texts

        sys.stdout.writelines(look_texts(found.seen, found.groups, found.unread, found.copies))
    else:
        from trialwise.report.documents.look import document

        words, why = shlex.join(found.proposal.words), found.proposal.why
        say_document(document(found.seen, found.unread, found.copies, words, why))
    return 0


def _write_tables(found: LookedAt, csv: Path | None, parquet: Path | None) -> list[Path]:
    first, *others = found.groups
    if others:
        tools = ", ".join(f"{group.tool} ({counted(len(group.readings), 'file')})" for group in found.groups)
        raise AnalysisError(
            f"one table holds the results of one tool, and here are several: {tools}",
            hint="name a folder, or a file, of one of them",
        )
    return write_long_tables(first.readings, csv, parquet)
