"""`trialwise history`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from trialwise.cli.files import check_out, write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import TrialwiseError
from trialwise.numbers import counted


def history(
    *paths: Path,
    by: Literal["commit", "date"] | None = None,
    metric: str | None = None,
    factor: str | None = None,
    repository: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
    html: Path | None = None,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    r"""Look back over commits or days: where a metric changed, by how much, and how sure that is.

    Reads experiment directories of several commits, what github-action-benchmark keeps (data.js), asv's folder of results, and files
    of every other format that is known, with a commit or a date inside or in their names. Machines are never pooled.

    For example:

    ```text
    trialwise history data.js
    trialwise history results/ --repository . --html history.html
    trialwise history nightly/ --factor '{date}_{bench}.json' --metric 'time*'
    ```

    Exit codes: 0 done, 2 wrong options, 7 nothing that can be read.

    Parameters
    ----------
    paths
        Files, experiment directories, or folders with such.
    by
        Default by commit where every value has one, else by day (UTC).
    metric
        Only metrics or subjects that match, with * and ?.
    factor
        How names of files give factors; {commit} and {date} say when, {rep} is the number of a repetition.
    repository
        A checkout whose history has the order of the commits; default the dates of the commits where the files tell them.
    json
        Print all points and changes as JSON (format trialwise.history/1, docs/reference/history-json.md).
    html
        Write a page with figures.
    force
        Overwrite the page.
    """
    if not paths:
        raise TrialwiseError("no path is named", hint="write trialwise history FILE… or a folder")
    if html is not None:
        check_out(html, force=force)
    from trialwise.study.history import look_back

    with StatusLine(f"reading {paths[0]}") as patience:
        found = look_back(
            paths,
            by,
            metric=metric,
            factor=factor,
            repository=repository,
            told=lambda number: patience.say(f"read {counted(number, 'file')}"),
        )
    if json:
        from trialwise.exchange.history_json import history_document

        print_json(history_document(found))
    else:
        from trialwise.report.documents.history import document

        say_document(document(found))
    if html is not None:
        from trialwise.report.figures.history import history_page

        write_text(html, history_page(found))
        stderr_console().print(f"wrote {html}", markup=False)
    return 0
