"""`trialwise aa`."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.defaults import gated
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.path_profile import is_experiment
from trialwise.cli.sources import Factor
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import AnalysisError, TrialwiseError
from trialwise.numbers import as_given

if TYPE_CHECKING:
    from trialwise.analysis.calibration.results import Calibration

_INTERRUPTED = 130
_CODES = {"fine": 0, "alarms": 1, "too few": 3}


def aa(
    source: Path,
    /,
    *,
    trials: int | None = None,
    directory: Annotated[Path | None, Parameter(name=["--directory", "-d"])] = None,
    metric: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    confidence: float = 95.0,
    splits: int = 1000,
    seed: int = 1,
    factor: Factor = None,
    gate: bool = False,
    json: bool = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"])] = False,
) -> int:
    """Calibrate the bench: run every treatment against itself, and say what noise looks like.

    An experiment file is run with two sides, A and A', of every treatment, with the same resets, order and workers; nothing that
    runs is told which side it is. After a crash the same command goes on, and after Ctrl-C, when what has finished is judged. Any
    experiment directory is judged by random re-splits of its trials. Of each metric and treatment: the noise floor (what this
    bench cannot tell from nothing), how often the verdict calls nothing a difference, the smallest difference that so many trials
    show, and the variance between hosts, boots, rounds and trials.

    For example:

    ```text
    trialwise aa experiment.toml               # into NAME.aa
    trialwise aa experiment.toml --trials 40
    trialwise aa experiment.toml --trials 80   # 40 more
    trialwise aa NAME.aa --json
    trialwise aa NAME.results                  # re-splits of what has run already
    trialwise aa baselines/                    # of repeated runs of any tool
    ```

    Exit codes: 0 done, and with --gate fine; 1 with --gate a treatment is different from itself, or false alarms are above their
    level; 2 wrong options or file;
    3 too few trials; 4 trials failed; 5 the directory cannot be used; 7 data that cannot be used; 130 interrupted.

    Parameters
    ----------
    source
        The experiment file, the directory of an experiment, or repeated results of a tool that `trialwise look` knows.
    trials
        Trials of each side of each treatment, in one series; default the rounds and series of the file. A round has one of each.
    directory
        Where the trials of a file go; default NAME.aa in the current folder.
    metric
        Only this metric; repeatable.
    confidence
        Of verdicts and intervals, in percent.
    splits
        Random re-splits of each treatment.
    seed
        Draws the re-splits.
    factor
        How names of files give factors, as '{cc}_{rep}.json'; default guessed where the files do not tell.
    gate
        Exit with 1 where a treatment is different from itself, or false alarms are above their level.
    json
        Print the calibration as JSON (format trialwise.calibration/1, docs/reference/calibration-json.md).
    quiet
        No progress.
    """
    from trialwise import study
    from trialwise.cli.progress import observer

    _check(source, trials, directory, confidence, splits, factor)
    failed, where, interrupted = 0, source, False
    if _is_to_run(source):
        experiment = study.itself(source, trials)
        where = directory or Path(f"{experiment.name}.aa")
        watching = [] if quiet else [observer(stderr_console(), experiment, terminal=sys.stderr.isatty())]
        result = study.run_experiment(experiment, where, observers=watching)
        failed, interrupted = result.failed, result.ending.reason == "interrupted"
    if interrupted:
        stderr_console().print(_partial(where, _command(source, trials, directory)), markup=False)
        with contextlib.suppress(AnalysisError):  # nothing has finished that could be judged
            _show(_calibration(where, metric, confidence, splits, seed, factor), json=json)
        return _INTERRUPTED
    found = _calibration(where, metric, confidence, splits, seed, factor)
    _show(found, json=json)
    return 4 if failed and found.finding != "alarms" else gated(_CODES[found.finding], gate=gate)


def _partial(where: Path, command: str) -> str:
    """Say after an interruption how many trials there are to judge, and how to continue."""
    from trialwise import study

    state = study.state(where)
    return f"interrupted: from {state.done} of {state.planned} trials; to go on: {command}"


def _command(source: Path, trials: int | None, directory: Path | None) -> str:
    words = ["trialwise", "aa", str(source)]
    words += ["--trials", str(trials)] if trials is not None else []
    words += ["--directory", str(directory)] if directory is not None else []
    return shlex.join(words)


def _show(found: Calibration, *, json: bool) -> None:
    if json:
        from trialwise.exchange.calibration_json import calibration_document

        print_json(calibration_document(found))
    else:
        from trialwise.report.documents.aa import document

        say_document(document(found))


def _check(
    source: Path,
    trials: int | None,
    directory: Path | None,
    confidence: float,
    splits: int,
    factor: str | None,
) -> None:
    if not 50 < confidence < 100:
        raise TrialwiseError(
            f"--confidence {as_given(confidence)}: expected a percentage above 50 and below 100"
        )
    if not 20 <= splits <= 1_000_000:
        raise TrialwiseError(f"--splits {splits}: expected a number from 20 to 1000000")
    if factor is not None and _is_to_run(source):
        raise TrialwiseError("--factor is for result files, not for an experiment file", hint="leave it out")
    if trials is not None and trials < 1:
        raise TrialwiseError(f"--trials {trials}: expected a number above 0")
    if not _is_to_run(source) and (trials is not None or directory is not None):
        what = "a directory, whose" if source.is_dir() else "no experiment file, and its"
        raise TrialwiseError(
            f"{source}: is {what} trials are judged as they are",
            hint="give the experiment file to run more trials",
        )


def _is_to_run(source: Path) -> bool:
    """Return True for an experiment file, also one that is not there; others are judged as they are."""
    return is_experiment(source) or not source.exists()


def _calibration(
    where: Path, metrics: tuple[str, ...], confidence: float, splits: int, seed: int, factor: str | None
) -> Calibration:
    with StatusLine(f"re-splitting the trials of {where}"):
        from trialwise import study
        from trialwise.analysis.calibration.calibrating import CalibrateOptions

        return study.calibration_of([where], metrics, CalibrateOptions(confidence, splits, seed), factor)
