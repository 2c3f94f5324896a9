"""`trialwise skip`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.output import print_json
from trialwise.cli.text import say_document


def skip(
    directory: Path,
    /,
    *treatments: str,
    because: str = "",
    undo: Annotated[bool, Parameter(negative="")] = False,
    by: str | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Skip a treatment of a begun experiment, also while it runs: its planned trials do not run.

    A run in progress takes it up before its next trial. The treatment, the reason, who and when stay in the ledger; `status` and
    reports show them, and count the trials as not measured. What has run of the treatment stays and is analysed.

    For example:

    ```text
    trialwise skip tcp.results scheme=bbr --because "bbr hangs on this kernel"
    trialwise skip tcp.results rate=100 --because "too slow"
    trialwise skip tcp.results scheme=bbr --undo
    ```

    Exit codes: 0 done; 2 no reason, or a treatment that cannot be skipped; 5 no experiment directory.

    Parameters
    ----------
    directory
        The experiment directory.
    treatments
        FACTOR=LEVEL[,LEVEL…]: the treatments with one of these levels; several factors narrow them down.
    because
        The reason; needed, except with --undo.
    undo
        Have the planned trials run after all; a run that has ended goes on with `trialwise run`.
    by
        Who says so; default the name of the user.
    json
        Print what was done as JSON (format trialwise.skip/1).
    """
    from trialwise.report.documents.skip import document
    from trialwise.study.skipping import skip as leave_out

    done = leave_out(directory, treatments, because, undo=undo, who=by)
    if json:
        print_json(asdict(done))
    else:
        say_document(document(done))
    return 0
