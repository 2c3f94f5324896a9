"""`trialwise look`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.output import print_json
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import TrialwiseError


def look(
    *paths: Path,
    factor: str | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    r"""Look at result files of other tools: which treatment is best, by how much, and what the data cannot say.

    Files and folders may be mixed: each format is recognised by its content. Nothing is written.

    For example:

    ```text
    trialwise look results/
    trialwise look old.txt new.txt
    trialwise look results/ --factor '{cc}_{rate}_{rep}.json'
    ```

    Exit codes: 0 done, 2 wrong options, 7 nothing that can be read.

    Parameters
    ----------
    paths
        Files, or folders with such files.
    factor
        How names of files give factors; {rep} is the number of a repetition. Default guessed, and shown.
    json
        Print all rows and what was seen as JSON (format trialwise.look/1, docs/reference/look-json.md).
    """
    if not paths:
        raise TrialwiseError("no path is named", hint="write trialwise look FILE… or a folder")
    from trialwise.study.looking import look as look_at

    with StatusLine(f"reading {paths[0]}") as patience:
        found = look_at(paths, factor, lambda number: patience.say(f"read {number} files"))
    if json:
        from trialwise.exchange.look_json import look_document

        print_json(look_document(found.seen, found.groups, found.unread, found.copies))
    else:
        from trialwise.report.documents.look import document

        source = [shlex.quote(str(path)) for path in paths]
        say_document(document(found.seen, found.unread, found.copies, source))
    return 0
