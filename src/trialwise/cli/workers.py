"""`trialwise workers`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from trialwise.cli.output import print_json
from trialwise.cli.text import say_document
from trialwise.execution.workers.address import split_names


def workers(
    action: Literal["add", "remove"],
    directory: Path,
    /,
    *names: str,
    because: str = "",
    by: str | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Have a worker join a begun experiment, or leave it, also while it runs.

    A worker that joins runs the whole plan in orders of its own, or what one that has left did not finish. One that leaves ends its
    round first, so that its rounds stay whole; one that is lost can leave too, and is then not missed. Later runs go on with
    those that take part, unless `--workers` names others.

    For example:

    ```text
    trialwise workers add tcp.results ssh://me@node3
    trialwise workers remove tcp.results ssh://me@node1 --because "its disk fails"
    ```

    Exit codes: 0 done; 2 a worker that cannot join or leave, or trials that run on this machine only; 5 no experiment directory.

    Parameters
    ----------
    action
        Whether the workers join or leave.
    directory
        The experiment directory.
    names
        WORKER[,WORKER…]: local, ssh://host, ssh://user@host:port.
    because
        The reason.
    by
        Who says so; default the name of the user.
    json
        Print what was done as JSON (format trialwise.workers/1).
    """
    from trialwise.report.documents.skip import staffed
    from trialwise.study.staffing import change_workers

    done = change_workers(action, directory, split_names(names), because, who=by)
    if json:
        print_json(asdict(done))
    else:
        say_document(staffed(done))
    return 0
