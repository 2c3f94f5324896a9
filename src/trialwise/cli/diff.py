"""`trialwise diff`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.output import print_json
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document

Flag = Annotated[bool, Parameter(negative="")]


def diff(a: str, b: str = "here", /, *, full: Flag = False, json: Flag = False) -> int:
    """Say how two experiments, or an experiment and this machine, differ, and what of it matters for performance.

    Differences are ranked: 1 program and plan, 2 hardware, 3 virtual machines and boots, then frequency, load, limits, network,
    kernel, libraries, memory layout, clocks. What only one side recorded is unknown, and not equal.

    For example:

    ```text
    trialwise diff monday.results today.results
    trialwise diff artifact.zip here --full
    ```

    Exit codes: 0 nothing of ranks 1 to 3 differs; 1 something does; 2 wrong options; 5 a damaged
    artifact; 7 a place that is neither an experiment directory nor an artifact.

    Parameters
    ----------
    a
        An experiment directory, an artifact with one experiment, or `here` for this machine.
    b
        The same; default this machine.
    full
        Show the differences of all ranks, and all that is unknown.
    json
        Print the differences as JSON (format trialwise.diff/1).
    """
    from trialwise.study.diff import diff_places

    with StatusLine("reading") as patience:
        found = diff_places(a, b, patience.going)
    if json:
        from trialwise.exchange.diff_json import diff_document

        print_json(diff_document(found))
    else:
        from trialwise.report.documents.diff import document

        say_document(document(found, full=full), full=full, rest="all with --full")
    return 1 if found.first else 0
