"""`trialwise verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.files import check_out, write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.foreign_files import named

Flag = Annotated[bool, Parameter(negative="")]


def verify(
    artifact: Path,
    /,
    *,
    rerun: Path | None = None,
    report: Path | None = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Verify an artifact: whether its files are those that were packed, and what its data say of its claims.

    Runs nothing, writes nothing outside of a temporary folder, and uses no network. ARTIFACT is a zip or tar archive, or a folder.

    For example:

    ```text
    trialwise verify artifact.zip
    trialwise verify artifact.zip --report ae.md
    trialwise verify artifact.zip --rerun again.results
    ```

    Exit codes: 0 the files are whole and all claims as their authors say; 1 a claim is not, or is not
    reproduced; 3 one is undecided or open; 5 the files are not
    those of the manifest, or it is no artifact; 2 wrong options; 7 data that cannot be read.

    Parameters
    ----------
    artifact
        The artifact.
    rerun
        An experiment directory in which you measured its experiment again: each claim is judged on it, and compared with the authors'.
    report
        Write the findings as Markdown, for the form of an evaluation; without names of this host and user.
    force
        Overwrite that file.
    json
        Print the findings as JSON (format trialwise.verify/1).
    """
    from trialwise.study.artifact.verifying import verify as verified

    if report is not None:
        check_out(report, force=force)
    with StatusLine(f"reading {named(artifact)}") as patience:
        found = verified(artifact, rerun, patience.going)
    from trialwise.report.documents.verify import document

    if json:
        from trialwise.exchange.artifact.documents import verify_document

        print_json(verify_document(found))
    else:
        say_document(document(found))
    if report is not None:
        from trialwise.report.render.markdown import markdown

        write_text(report, markdown(document(found)))
        stderr_console().print(f"wrote {report}", markup=False)
    return found.exit_code
