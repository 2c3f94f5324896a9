"""`trialwise verify`."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.budgets import budget_seconds
from trialwise.cli.files import check_out, write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import PlanError
from trialwise.execution.workers.address import split_names
from trialwise.foreign_files import named
from trialwise.numbers import about

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialwise.analysis.artifacts import Verified
    from trialwise.analysis.reruns import NotRun, PlannedRerun

Flag = Annotated[bool, Parameter(negative="")]


def verify(
    artifact: Path,
    /,
    *,
    kick: Flag = False,
    claim: Annotated[
        tuple[str, ...], Parameter(name=["--claim", "--claims"], negative="", show_default=False)
    ] = (),
    show: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    budget: str | None = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    have: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    rerun: Path | None = None,
    allowed_signers: Path | None = None,
    report: Path | None = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Verify an artifact: whether its files are those that were packed, what its data say of its claims, and whether they hold here.

    ARTIFACT is a zip or tar archive, or a folder. Without --kick and --claim nothing is run, and nothing is written outside of a
    temporary folder. No network is used. With one of them, the packed experiments are measured again on this machine, in a folder of
    their own; what will run is said first.

    For example:

    ```text
    trialwise verify artifact.zip
    trialwise verify artifact.zip --show C1
    trialwise verify artifact.zip --kick --budget 6m
    trialwise verify artifact.zip --claim C1,C2 --budget 45m
    trialwise verify artifact.zip --report ae.md
    trialwise verify artifact.zip --rerun again.results
    ```

    Exit codes: 0 the files are whole and all claims as their authors say, or reproduced; 1 a claim is not, or is not
    reproduced; 3 one is undecided or open; 5 the files are not those of the manifest, the ledger is not as it was recorded, what was
    kept of trials gives other numbers, or it is no artifact; 2 wrong options; 7 data that cannot be read.

    Parameters
    ----------
    artifact
        The artifact.
    kick
        Run the programs of the artifact: the smallest re-run that says anything, of the claims that fit the budget (6min).
    claim
        CLAIM[,CLAIM…]: run the programs of the artifact until these claims are decided, judged at half of the planned rounds and at
        all. The same command later goes on. Repeatable.
    show
        CLAIM[,CLAIM…]: show what would run for these claims, commands, files and environment, and run nothing. Repeatable.
    budget
        Time at most for what runs, such as 6min or 2h; after it stands what is known so far.
    out
        Folder of the re-run; default the latest verify-1, verify-2, … beside the artifact that is one of it, or the next.
    have
        What this machine has or permits of that which the claims need and nobody can look up, as "reboot". Repeatable.
    rerun
        An experiment directory in which you measured its experiment again, or the folder of an earlier --kick or --claim: each
        claim is judged on it, and compared with the authors'.
    allowed_signers
        A file of keys (ssh-keygen(1), ALLOWED SIGNERS), from elsewhere than the artifact, one of which must have signed it.
    report
        Write the findings as Markdown under the questions of an evaluation, with the latest re-run beside the artifact; without
        names of this host and user.
    force
        Overwrite that file.
    json
        Print the findings as JSON (format trialwise.verify/1).
    """
    if show:
        _refuse(kick or bool(claim), "--show", "runs nothing: leave out --kick and --claim")
        _refuse(json, "--show", "is to be read: leave out --json")
        _show(artifact, tuple(split_names(show)))
        return 0
    if report is not None:
        check_out(report, force=force)
    if kick or claim:
        _refuse(
            rerun is not None, "--rerun", "names a directory that was measured: leave out --kick and --claim"
        )
        _refuse(kick and bool(claim), "--kick", "takes the claims that fit: leave out --claim")
        found = _remeasured(
            artifact,
            kick=kick,
            claims=tuple(split_names(claim)),
            budget=budget,
            out=out,
            have=have,
            allowed=allowed_signers,
        )
    else:
        _refuse(budget is not None, "--budget", "is for what runs: add --kick or --claim")
        found = _read(artifact, rerun, allowed=allowed_signers, latest=report is not None)
    from trialwise.report.documents.verify import document

    if json:
        from trialwise.exchange.artifact.documents import verify_document

        print_json(verify_document(found))
    else:
        say_document(document(found))
    if report is not None:
        write_text(report, _evaluation(found))
        stderr_console().print(f"wrote {report}", markup=False)
    return found.exit_code


def _evaluation(found: Verified) -> str:
    """Return the report of an evaluator in Markdown, without names of host and user."""
    from trialwise.exchange.artifact.privacy import Names
    from trialwise.measurement.environment import capture
    from trialwise.report.documents.evaluation import evaluation
    from trialwise.report.render.markdown import markdown

    here = capture()
    memory = here.machine.memory
    facts = {
        "processor": here.processor.model or "",
        "CPUs": str(here.processor.cpus or ""),
        "governor": here.processor.governor or "",
        "memory": "" if memory is None else f"{about(memory / 2**30)} GiB",
        "kernel": here.kernel.release or "",
        "distribution": here.details.get("distribution", ""),
        "virtual machine": here.machine.virtual_machine or "",
        "container": here.machine.container or "",
    }
    facts = {name: value for name, value in facts.items() if value}
    hosts, users = {here.machine.hostname or ""}, {getpass.getuser(), Path.home().name}
    return Names(hosts, users).text(markdown(evaluation(found, facts), full=True))


def _refuse(condition: bool, option: str, why: str) -> None:
    if condition:
        raise PlanError(f"{option} {why}")


def _show(artifact: Path, claims: tuple[str, ...]) -> None:
    from trialwise.report.documents.rerun import shown_document
    from trialwise.study.artifact.showing import show

    say_document(shown_document(show(artifact, claims)))


def _read(artifact: Path, rerun: Path | None, *, allowed: Path | None, latest: bool) -> Verified:
    """Verify without running anything, with the re-run that is named, or with the `latest` one of `verify`."""
    from trialwise.study.artifact.remeasuring import read_again
    from trialwise.study.artifact.rerun_folder import is_rerun
    from trialwise.study.artifact.verifying import verify as verified

    with StatusLine(f"reading {named(artifact)}") as patience:
        if (rerun is None and latest) or (rerun is not None and is_rerun(rerun)):
            return read_again(artifact, rerun, patience.going, allowed=allowed)
        return verified(artifact, rerun, patience.going, allowed=allowed, here=True)


def _remeasured(
    artifact: Path,
    *,
    kick: bool,
    claims: tuple[str, ...],
    budget: str | None,
    out: Path | None,
    have: tuple[str, ...],
    allowed: Path | None,
) -> Verified:
    from trialwise.cli.progress import observer
    from trialwise.report.documents.rerun import planned_lines
    from trialwise.study.artifact.remeasuring import RerunOptions, remeasure

    console = stderr_console()

    def announce(plans: Sequence[PlannedRerun], place: Path, rest: Sequence[NotRun]) -> None:
        for line in planned_lines(plans, place.name, rest):
            console.print(line, markup=False, soft_wrap=True)

    options = RerunOptions(
        claims=claims,
        kick=kick,
        budget=budget_seconds(budget) if budget else None,
        out=out,
        have=have,
        allowed=allowed,
    )
    return remeasure(
        artifact,
        options,
        announce,
        lambda experiment: [observer(console, experiment, terminal=sys.stderr.isatty())],
    )
