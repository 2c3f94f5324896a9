"""`trialwise pause`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.output import print_json
from trialwise.cli.text import say_document


def pause(
    directory: Path,
    /,
    *,
    because: str = "",
    by: str | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Ask a run in progress to stop after its running trials; `trialwise run` on the directory goes on.

    It works from any terminal of the machine. The ledger records who asked, when and why. What follows forms another series only if
    the environment has changed by then.

    For example:

    ```text
    trialwise pause tcp.results --because "the testbed is needed until noon"
    trialwise run tcp.results
    ```

    Exit codes: 0 asked; 5 no experiment directory, or no run is at work. The run itself ends with 130.

    Parameters
    ----------
    directory
        The experiment directory.
    because
        The reason.
    by
        Who says so; default the name of the user.
    json
        Print what was done as JSON (format trialwise.pause/1).
    """
    from trialwise.report.documents.skip import paused
    from trialwise.study.pausing import pause as ask

    done = ask(directory, because, who=by)
    if json:
        print_json(asdict(done))
    else:
        say_document(paused(done))
    return 0
