"""`trialwise status`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from trialwise.cli.output import print_json
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.foreign_files import named


def status(directory: Path, /, *, json: bool = False) -> int:
    """Show how far an experiment is, while it runs and after.

    For example:

    ```text
    trialwise status compressors.results
    watch -n 5 trialwise status compressors.results
    ```

    Exit codes: 0, or 4 where trials have failed for good: a trial whose later attempt finished has not.

    Parameters
    ----------
    directory
        The experiment directory.
    json
        Print the state as JSON.
    """
    from trialwise import study
    from trialwise.report.documents.status import document

    with StatusLine(f"reading {named(directory)}") as patience:
        state = study.state(directory, patience.drawing, patience.going)
    if json:
        print_json(asdict(state.document))
    else:
        say_document(document(state.document, state.failed))
    return 4 if state.failed else 0
