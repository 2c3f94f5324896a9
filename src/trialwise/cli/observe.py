"""`trialwise observe`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.defaults import gated
from trialwise.cli.files import write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.plots import check_percentage
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import echo, say_document
from trialwise.errors import AnalysisError, PlanError, TrialwiseError
from trialwise.experiment.model import Extent
from trialwise.foreign_files import named
from trialwise.numbers import counted

if TYPE_CHECKING:
    from trialwise.analysis.observing.observing import ObserveOptions
    from trialwise.analysis.observing.results import Observation

_CODES = {"equivalent": 0, "different": 1, "undecided": 3}
_INTERRUPTED, _FAILED, _WORKER_LOST = 130, 4, 6
_Repeated = Parameter(negative="", consume_multiple=False, show_default=False)


def observe(
    experiment: Path | None = None,
    /,
    *,
    flavour: Annotated[tuple[str, ...], _Repeated] = (),
    load: Annotated[tuple[str, ...], _Repeated] = (),
    metric: Annotated[tuple[str, ...], _Repeated] = (),
    margin: Annotated[tuple[str, ...], _Repeated] = (),
    error: Annotated[tuple[str, ...], _Repeated] = (),
    trials: int | None = None,
    reset: str | None = None,
    name: str = "observe",
    dry_run: bool = False,
    factor: str | None = None,
    base: str | None = None,
    confidence: float = 95,
    directory: Annotated[Path | None, Parameter(name=["--directory", "-d"])] = None,
    gate: bool = False,
    json: bool = False,
    csv: Path | None = None,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"])] = False,
) -> int:
    r"""Say whether measuring changes what is measured: flavours of one thing, with and without a probe, under the same loads.

    With --flavour it writes the experiment file NAME.toml, runs it and judges; the same command goes on after an interruption. With an
    experiment file it runs, or goes on, and judges; with an experiment directory it judges. Each flavour is compared with the base at
    each load, for each metric: different, equivalent within the margin, or undecided with the bill. No effect is only ever
    "equivalent".

    For example:

    ```text
    trialwise observe --flavour none='./server --rate {rate}' \
        --flavour probe='./probe ./server --rate {rate}' --load rate=1000,5000 \
        --metric time=wall --metric 'served=stdout:served ([0-9]+)' \
        --margin 5%
    trialwise observe experiment.toml
    trialwise observe experiment.results --error loss --margin loss=0.1
    ```

    Exit codes: 0 done, and with --gate all equivalent within their margins; 1 with --gate a difference beyond its margin; 2 wrong
    options; 3 undecided; 4 trials failed; 5 the directory cannot be used; 6 a worker was lost; 7 data that cannot be judged; 130
    interrupted.

    Parameters
    ----------
    experiment
        An experiment file, or an experiment directory, with a factor whose levels are the flavours.
    flavour
        NAME=COMMAND, with {load} where a load's level goes; repeatable, the first is the base.
    load
        Another factor, NAME=LEVEL,LEVEL…; repeatable.
    metric
        NAME=SOURCE, where SOURCE is wall, user, system, max_rss, stdout:REGEX, json:/POINTER, csv:COLUMN, stream:STREAM.FIELD or
        instrument:NAME; repeatable. Default time=wall.
    margin
        The largest effect that does not matter: 5% of the base, or a number in the metric's unit; METRIC=MARGIN is that of one
        metric; repeatable. Default those of the experiment.
    error
        A metric that is an error (what an instrument reports less an independent count): whether it is 0 within its margin is asked
        of every flavour too; repeatable.
    trials
        Of each flavour at each load; default what equivalence takes where trials spread as far as the margin.
    reset
        Command that runs before each round.
    name
        Of the experiment that is written, NAME.toml; its results are in NAME.results.
    dry_run
        Write the file, and do not run it.
    factor
        The factor whose levels are the flavours; default that of [design] base, else flavour.
    base
        Its level that the others are compared with; default that of [design] base.
    confidence
        Of all verdicts together, in percent.
    directory
        The experiment directory of a file; default NAME.results in the current folder.
    gate
        Exit with 1 where a difference is beyond its margin.
    json
        Print the observation as JSON (format trialwise.observe/1, docs/reference/observe-json.md).
    csv
        Write a row for each flavour, load and metric to this file.
    quiet
        No progress.
    """
    check_percentage(confidence, "--confidence")
    options = _options(factor, base, confidence, margin, error)
    if csv is not None and not csv.parent.is_dir():
        raise TrialwiseError(
            f"{csv}: there is no folder {csv.parent}", hint="make it, or choose another place"
        )
    of_new = bool(load or metric or trials is not None or reset or dry_run)
    if flavour:
        if experiment is not None or factor or base:
            raise PlanError("--flavour makes an experiment: no file, --factor or --base goes with it")
        experiment = _made(name, flavour, load, metric, options, trials, reset)
    elif of_new and experiment is not None:
        raise PlanError("--load, --metric, --trials, --reset and --dry-run go with --flavour")
    if experiment is None:
        raise PlanError(
            "what is to be observed?",
            hint="--flavour none='CMD' --flavour probe='CMD', or an experiment file",
        )
    if dry_run:
        echo(f"next: trialwise plan {experiment}  ·  trialwise observe {experiment}")
        return 0
    code = _answer(experiment, directory, options, csv, json=json, quiet=quiet)
    return gated(code, gate=gate)


def _answer(
    experiment: Path,
    directory: Path | None,
    options: ObserveOptions,
    csv: Path | None,
    *,
    json: bool,
    quiet: bool,
) -> int:
    """Run what is pending, judge, and print the result; failed trials determine the exit code first."""
    if experiment.is_dir():
        if directory is not None:
            raise PlanError("--directory is only valid with an experiment file")
        return _judge(experiment, options, csv, json=json)
    _check_before_running(experiment, options)
    place, ran = _run(experiment, directory, quiet=quiet or json)
    if ran in (_INTERRUPTED, _WORKER_LOST):
        return ran
    try:
        verdict = _judge(place, options, csv, json=json)
    except AnalysisError as problem:
        if not ran:
            raise
        stderr_console().print(f"nothing to judge: {problem.message}", markup=False)
        return ran
    return ran or verdict


def _options(
    factor: str | None, base: str | None, confidence: float, margins: Iterable[str], errors: Iterable[str]
) -> ObserveOptions:
    from trialwise.analysis.observing.observing import ObserveOptions
    from trialwise.experiment.option_words import extent_of

    common: Extent | None = None
    named: dict[str, Extent] = {}
    for text in margins:
        name, sign, words = text.partition("=")
        if not sign:
            if common is not None:
                raise PlanError(f"--margin {text}: a margin for all metrics stands there already")
            common = extent_of(text)
        elif not name or name in named:
            raise PlanError(f"--margin {text}: {'stands twice' if name else 'names no metric'}")
        else:
            named[name] = extent_of(words)
    return ObserveOptions(factor, base, confidence, common, named, tuple(dict.fromkeys(errors)))


def _made(
    name: str,
    flavours: Iterable[str],
    loads: Iterable[str],
    metrics: Iterable[str],
    options: ObserveOptions,
    trials: int | None,
    reset: str | None,
) -> Path:
    """Write the experiment file, unless an identical one exists."""
    from trialwise.design.observer import observer_experiment
    from trialwise.experiment.option_words import levels_of, metric_of
    from trialwise.experiment.reading import parse_experiment
    from trialwise.experiment.writing import write_experiment

    if trials is not None and trials < 2:
        raise PlanError(f"--trials {trials}: a verdict takes at least two of each flavour")
    chosen = [metric_of(*pair) for pair in (_pairs("--metric", metrics) or {"time": "wall"}).items()]
    unknown = set(options.margins) | set(options.errors)
    for one in sorted(unknown - {metric.name for metric in chosen}):
        raise PlanError(
            f"{one!r} is not a metric", hint=f"there are: {', '.join(one.name for one in chosen)}"
        )
    judged = [replace(one, margin=options.margins.get(one.name) or options.margin) for one in chosen]
    experiment, rounds = observer_experiment(
        name,
        _pairs("--flavour", flavours),
        {load: levels_of(levels) for load, levels in _pairs("--load", loads).items()},
        judged,
        trials=trials,
        reset=reset,
    )
    file = Path(f"{name}.toml")
    text = write_experiment(experiment)
    parse_experiment(text, file)
    _write(file, text)
    stderr_console().print(
        f"{file}: {counted(rounds.number, 'round')} in {rounds.order} order, {rounds.why}", markup=False
    )
    return file


def _pairs(option: str, texts: Iterable[str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or not value or name in found:
            raise PlanError(f"{option} {text}: {'stands twice' if name in found else 'is not NAME=VALUE'}")
        found[name] = value
    return found


def _write(file: Path, text: str) -> None:
    try:
        if file.exists():
            if file.read_text(encoding="utf-8") != text:
                raise PlanError(
                    f"{file}: is there, and is of another experiment",
                    hint=f"trialwise observe {file} goes on with it; --name gives this one another name",
                )
            return
    except OSError as error:
        raise PlanError(f"{file}: cannot be read: {error.strerror}") from error
    write_text(file, text)


def _check_before_running(file: Path, options: ObserveOptions) -> None:
    """Refuse before running what would be refused after hours of running."""
    from trialwise import study
    from trialwise.analysis.observing.observing import factor_and_base

    factor_and_base(study.load(file), options)


def _run(file: Path, directory: Path | None, *, quiet: bool) -> tuple[Path, int]:
    from trialwise import study
    from trialwise.cli.progress import observer

    observers = [] if quiet else [observer(stderr_console(), study.load(file), terminal=sys.stderr.isatty())]
    result = study.run(file, directory, observers=observers)
    word = result.ending.reason
    if word != "complete":
        stderr_console().print(f"{word}: {result.ending.text}; the same command goes on", markup=False)
    if result.failed:
        stderr_console().print(f"failed trials: see `trialwise status {result.directory}`", markup=False)
    if word in ("interrupted", "worker lost"):
        return result.directory, _INTERRUPTED if word == "interrupted" else _WORKER_LOST
    return result.directory, _FAILED if result.failed or word in ("reset failed", "service failed") else 0


def _judge(directory: Path, options: ObserveOptions, csv: Path | None, *, json: bool) -> int:
    with StatusLine(f"reading {named(directory)}"):
        from trialwise import study

        found = study.observed(directory, options)
    if json:
        from trialwise.exchange.observe_json import observe_document

        print_json(observe_document(found))
    else:
        from trialwise.report.documents.observe import document

        say_document(document(found))
    if csv is not None:
        _write_csv(found, csv)
    return _CODES[found.verdict]


def _write_csv(found: Observation, csv: Path) -> None:
    from trialwise.exchange.observe_json import observe_csv

    write_text(csv, observe_csv(found))
    stderr_console().print(f"wrote {csv}", markup=False)
