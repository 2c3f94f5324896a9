"""`trialwise status`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.output import print_json
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import echo, say_document
from trialwise.errors import TrialwiseError
from trialwise.foreign_files import named


def status(
    directory: Path,
    /,
    *,
    trial: int | None = None,
    attempt: int | None = None,
    unpack: Path | None = None,
    check: Annotated[bool, Parameter(negative="")] = False,
    json: bool = False,
) -> int:
    """Show how far an experiment is, while it runs and after, or how one trial went and what is kept of it.

    For example:

    ```text
    trialwise status compressors.results
    watch -n 5 trialwise status compressors.results
    trialwise status compressors.results --trial 7 --unpack trial-7
    trialwise status compressors.results --check
    ```

    Exit codes: 0, or 4 where trials have failed for good: a trial whose later attempt finished has not. With --trial, 4 where
    the attempt failed. With --check, 5 where a row, a file of samples or the experiment file is not as it was recorded.

    Parameters
    ----------
    directory
        The experiment directory.
    trial
        The number of a trial: show how it went, what it reported, the end of what it printed, and the files that were kept.
    attempt
        With --trial: which attempt at it; default the last that has begun.
    unpack
        With --trial: write everything that it printed and the files that were kept into this new folder.
    check
        Follow the hash chain of the ledger first, and name the first row or file that is not as it was recorded.
    json
        Print the state, or that of the trial, as JSON.
    """
    from trialwise import study
    from trialwise.report.documents.status import document

    if check:
        echo(study.check_chain(directory), to=sys.stderr)
    if trial is not None:
        return _one_trial(directory, trial, attempt, unpack, json=json)
    if attempt is not None or unpack is not None:
        raise TrialwiseError("--attempt and --unpack concern one trial", hint="name it, as in --trial 7")
    with StatusLine(f"reading {named(directory)}") as patience:
        state = study.state(directory, patience.drawing, patience.going)
    if json:
        print_json(asdict(state.document))
    else:
        say_document(document(state.document, state.failed))
    return 4 if state.failed else 0


def _one_trial(directory: Path, number: int, attempt: int | None, folder: Path | None, *, json: bool) -> int:
    from trialwise.report.documents.trial import document
    from trialwise.study.one_trial import one_trial

    found = one_trial(directory, number, attempt)
    if folder is not None:
        found.unpack(folder)
    if json:
        print_json(asdict(found.document))
    else:
        say_document(document(found.document, {name: kept.data for name, kept in found.outputs.items()}))
    return 4 if found.document.status in ("failed", "invalid") else 0
