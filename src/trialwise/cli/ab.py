"""`trialwise ab`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli import exports
from trialwise.cli.ab_sides import Files, own_folder, prepared, sides_of
from trialwise.cli.files import STANDARD, check_out, write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.suite import EXIT_CODES, PILOT, SuiteOptions, suite_plan
from trialwise.cli.text import print_data, say_document
from trialwise.errors import TrialwiseError
from trialwise.experiment.ab_experiment import (
    margin_of,
    metric_of,
    two_versions,
    versions_of,
)
from trialwise.experiment.model import Experiment, Metric
from trialwise.experiment.quantity import seconds
from trialwise.numbers import as_given

if TYPE_CHECKING:
    from trialwise.analysis.versions.looks import AbPlan
    from trialwise.analysis.versions.results import SuiteResult, VersionsResult
    from trialwise.analysis.versions.suites import SuitePlan
    from trialwise.report.document import Document

_CODES = {"fine": 0, "worse": 1, "undecided": 3}
_BUDGET = "10m"
"""For a pilot and the trials that it requires; a fixed number of trials has no budget unless one is given."""
_SHORT = "1m"
"""The budget of commands, which longer trials raise."""
_PILOT = 20
_MOST = 1000
"""Maximum number of trials of each version."""


def ab(
    *commands: str,
    base: str | None = None,
    head: str | None = None,
    command: str | None = None,
    build: str | None = None,
    margin: str = "3%",
    budget: Annotated[str | None, Parameter(show_default=False)] = None,
    metric: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    trials: int | None = None,
    pilot: Annotated[int | None, Parameter(show_default=False)] = None,
    warmup: int = 1,
    confidence: float = 95.0,
    floor: Path | None = None,
    directory: Annotated[Path | None, Parameter(name=["--directory", "-d"])] = None,
    seed: int = 1,
    json: bool = False,
    markdown: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    export: Annotated[tuple[Path, ...], Parameter(negative="", show_default=False)] = (),
    undecided_passes: Annotated[bool, Parameter(negative="")] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"])] = False,
    suite: SuiteOptions | None = None,
) -> int:
    r"""Compare commands, or two builds of a program: interleaved, until decided or out of budget.

    All run in turns, in random order within each round. After a pilot it is judged once; where that does not decide, the pilot
    says how many fresh trials would, and these are judged once by themselves. Both looks share the error, so that the verdict
    keeps its level.
    Ctrl-C gives the answer so far; the same command goes on.

    For example:

    ```text
    trialwise ab './old' './new'
    trialwise ab 'sort -n f' 'sort -g f' 'sort -V f' --export sorts.html
    trialwise ab --base './old --size 9' --head './new --size 9' --margin 3% \
        --budget 10m
    trialwise ab --base main --head HEAD --build 'make -j4' \
        --command './prog input'
    trialwise ab --base ./old --head ./new \
        --metric 'rate:higher=stdout:([0-9.]+) per second'
    trialwise ab --base ./old --head ./new --floor NAME.aa --markdown
    trialwise ab --base main --head HEAD --bench 'go test -bench . -count 1' \
        --format go-bench
    ```

    Exit codes: 0 equivalent, better, or not worse by the margin; 1 worse; 2 wrong options; 3 undecided, or 0 with --undecided-passes;
    4 trials or the build failed; 5 the directory cannot be used; 7 a floor that cannot be read; 130 interrupted.

    Parameters
    ----------
    commands
        Two or more shell lines, all compared with the first. Standard input is empty, and what they print is not shown.
    base
        Instead: the command of the version to compare with; or, with --command, a git revision.
    head
        The command of the new version; or, with --command, a git revision.
    command
        The command of both revisions, run in a worktree of each at the place of the current folder.
    build
        Run first: once here, or with --command in the worktree of each revision.
    margin
        The difference that would matter: in percent of base as 3%, or in the unit of the metric.
    budget
        How long trials may go on, as 90s or 10m; what is cut off goes on with the same command. Default 10m, or none with --trials;
        of commands 1m, or up to 10m where two pilots take longer.
    metric
        NAME[:higher|:lower]=SOURCE, where a source is wall, user, system, max_rss, stdout:PATTERN, json:POINTER or csv:COLUMN.
        Repeatable. Default time=wall.
    trials
        So many trials of each version, judged once at the end, instead of a pilot and what it asks for. A --budget ends them early.
    pilot
        Trials of each version before the first look. Default 20, or 10 of a suite.
    warmup
        Trials of each version at the beginning that do not count.
    confidence
        Of the verdict over both looks, in percent.
    floor
        A directory of `trialwise aa` on this bench: a difference under its noise floor is undecided.
    directory
        The folder that the directories of pairs stand in, default ab.results, which git does not see: another build, machine,
        setting or revision is another pair, with trials of its own, and the earlier ones stay. Commands that read it take the
        latest.
    seed
        Draws the order.
    json
        Print the result as JSON (format trialwise.ab/1).
    export
        Write the result to this file as its ending says: .md, .csv, .json, .html or .svg. Repeatable.
    markdown
        Write a table for a pull request to this file; alone, or with -, it is printed instead of the text.
    undecided_passes
        Exit with 0 instead of 3 where the trials do not decide; what is printed stays the same.
    quiet
        No progress.
    """
    if markdown is not None:
        check_out(markdown, force=True)
    exports.check(export)
    suite = suite or SuiteOptions()
    command = _command(command, suite, has_metrics=bool(metric))
    lines = sides_of(commands, base, head, with_suite=suite.given, with_command=command is not None)
    metrics = [] if suite.given else _metrics(metric or ("time=wall",))
    results = suite.section() if suite.given else None
    plan = _plan(margin, confidence, pilot or (PILOT if suite.given else _PILOT), trials)
    plan = replace(plan, versions=versions_of(len(lines)), commands=commands)
    allowed = _budget(budget or (_SHORT if commands and trials is None else None), trials)
    fits = seconds(_BUDGET) if commands and budget is None and trials is None else None
    rounds = trials if trials is not None else _MOST
    if warmup < 0:
        raise TrialwiseError(f"--warmup {warmup}: expected a number ≥ 0")
    with prepared(lines, command, build) as sides:
        experiment = two_versions(
            "ab",
            sides.folder,
            sides.trial if results is None else replace(sides.trial, exit_codes=EXIT_CODES),
            metrics,
            rounds=rounds,
            warmup=warmup,
            seed=seed,
            description=sides.description,
            results=results,
            versions=plan.versions,
        )
        judged_by = suite_plan(plan, suite.correction) if suite.given else plan
        place = directory or own_folder()
        found = _run(experiment, place, judged_by, sides.files, allowed, fits, floor, quiet=quiet)
    _show(found, json=json, markdown=markdown, export=export)
    return _code(found, undecided_passes=undecided_passes)


def _command(command: str | None, suite: SuiteOptions, *, has_metrics: bool) -> str | None:
    if not suite.given:
        return command
    if suite.bench is not None and command is not None:
        raise TrialwiseError("--command and --bench are the same", hint="leave one of them out")
    if has_metrics:
        raise TrialwiseError(
            "--metric: a suite prints its metrics itself", hint="choose among them with --keep PATTERN"
        )
    return suite.bench if suite.bench is not None else command


def _code(found: VersionsResult | SuiteResult, *, undecided_passes: bool) -> int:
    if found.ending == "interrupted":
        return 130
    if found.failed and found.outcome != "worse":
        return 4
    if undecided_passes and found.outcome == "undecided":
        return 0
    return _CODES[found.outcome]


def _run(
    experiment: Experiment,
    directory: Path,
    plan: AbPlan | SuitePlan,
    sides: Files,
    budget: float | None,
    fits: float | None,
    floor: Path | None,
    *,
    quiet: bool,
) -> VersionsResult | SuiteResult:
    from trialwise import study
    from trialwise.analysis.versions.live import LiveChanges
    from trialwise.analysis.versions.looks import AbPlan
    from trialwise.cli.progress import observer
    from trialwise.versions import run_suite, run_versions

    terminal = sys.stderr.isatty()
    ruler = None if floor is None else study.calibration(floor)
    if isinstance(plan, AbPlan):
        live = LiveChanges(experiment.metrics, plan) if plan.commands else None
        watching = [] if quiet else [observer(stderr_console(), experiment, terminal=terminal, live=live)]
        return run_versions(
            experiment, directory, plan, sides, budget=budget, fits=fits, floor=ruler, observers=watching
        )
    watching = [] if quiet else [observer(stderr_console(), experiment, terminal=terminal)]
    return run_suite(experiment, directory, plan, sides, budget=budget, floor=ruler, observers=watching)


def _metrics(texts: tuple[str, ...]) -> list[Metric]:
    found: list[Metric] = []
    for text in texts:
        try:
            found.append(metric_of(text))
        except ValueError as error:
            raise TrialwiseError(f"--metric {text}: {error}") from error
    names = [metric.name for metric in found]
    if len(set(names)) < len(names):
        raise TrialwiseError(f"--metric: {', '.join(names)}: each name once")
    return found


def _plan(margin: str, confidence: float, pilot: int, trials: int | None) -> AbPlan:
    from trialwise.analysis.versions.looks import AbPlan

    if not 50 < confidence < 100:
        raise TrialwiseError(
            f"--confidence {as_given(confidence)}: expected a percentage above 50 and below 100"
        )
    for name, number in (("--pilot", pilot), ("--trials", trials)):
        if number is not None and not 2 <= number <= _MOST:
            raise TrialwiseError(f"{name} {number}: expected a number from 2 to {_MOST}")
    try:
        return AbPlan(pilot, _MOST, confidence, margin_of(margin), trials)
    except ValueError as error:
        raise TrialwiseError(f"--margin {margin}: {error}") from error


def _budget(text: str | None, trials: int | None) -> float | None:
    """Return the budget in seconds; None for none."""
    if text is None:
        return seconds(_BUDGET) if trials is None else None
    try:
        return seconds(text)
    except ValueError as error:
        raise TrialwiseError(f"--budget {text}: {error}") from error


def _show(
    found: VersionsResult | SuiteResult, *, json: bool, markdown: Path | None, export: tuple[Path, ...]
) -> None:
    from trialwise.report.render import markdown as in_markdown

    told, content = _documents(found)
    if markdown is not None and markdown != STANDARD:
        write_text(markdown, in_markdown.markdown(told))
        stderr_console().print(f"wrote {markdown}", markup=False)
    if json:
        print_json(content())
    elif markdown == STANDARD:
        print_data(in_markdown.markdown(told))
    else:
        say_document(told)
    exports.write(export, found, told, content)


def _documents(found: VersionsResult | SuiteResult) -> tuple[Document, Callable[[], Mapping[str, object]]]:
    """Return what is said to people, and what makes the JSON."""
    from trialwise.analysis.versions.results import SuiteResult
    from trialwise.exchange.versions_json import suite_document, versions_document
    from trialwise.report.documents import ab, commands, suite

    if isinstance(found, SuiteResult):
        return suite.document(found), lambda: suite_document(found)
    if found.commands:
        return commands.document(found), lambda: versions_document(found)
    return ab.document(found), lambda: versions_document(found)
