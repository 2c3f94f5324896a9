"""`trialwise exclude`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.output import print_json
from trialwise.cli.text import say_document


def exclude(
    directory: Path,
    /,
    *trials: str,
    because: str = "",
    undo: Annotated[bool, Parameter(negative="")] = False,
    by: str | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Leave finished trials out of every analysis, with a reason; nothing is deleted.

    The trial, the reason, who and when stay in the ledger, and `status` and reports show them. Analyses say how their answer
    changes without the trial. Decide before you look at results, by what you know of the trial apart from its value.

    For example:

    ```text
    trialwise exclude tcp.results 17 --because "the backup ran on node3"
    trialwise exclude tcp.results 17 40-43 --because "the fan of node3 had failed"
    trialwise exclude tcp.results 17 --undo --because "the backup ran later"
    ```

    Exit codes: 0 done; 2 no reason, or a trial that cannot be left out; 5 no experiment directory, or a run that waits for results.

    Parameters
    ----------
    directory
        The experiment directory.
    trials
        Numbers of trials, or ranges such as 40-43.
    because
        The reason; needed, except with --undo.
    undo
        Take trials back that were left out.
    by
        Who says so; default the name of the user.
    json
        Print what was done as JSON (format trialwise.exclude/1).
    """
    from trialwise.report.documents.exclude import document
    from trialwise.study.excluding import exclude as leave_out

    done = leave_out(directory, trials, because, undo=undo, who=by)
    if json:
        print_json(asdict(done))
    else:
        say_document(document(done))
    return 0
