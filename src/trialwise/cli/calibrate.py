"""`trialwise calibrate`."""

from __future__ import annotations

import json as json_text
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from trialwise.cli.files import check_out, write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.plots import check_percentage
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import TrialwiseError
from trialwise.foreign_files import named

if TYPE_CHECKING:
    from trialwise.analysis.trial_set import Level
    from trialwise.study.path_fitting import FitOptions, FittedPath

_SUFFIX = ".path"
_Repeated = Parameter(negative="", consume_multiple=False, show_default=False)


def calibrate(
    real: Path,
    /,
    *,
    out: Annotated[Path, Parameter(name=["--out", "-o"])],
    hold_out: Annotated[tuple[str, ...], _Repeated] = (),
    only: Annotated[tuple[str, ...], _Repeated] = (),
    judge: Path | None = None,
    from_b: Annotated[tuple[str, ...], Parameter(name="--b", negative="", show_default=False)] = (),
    budget: str = "10min",
    real_packets: Annotated[bool, Parameter(name="--real")] = False,
    seed: int = 1,
    margin: Annotated[tuple[str, ...], _Repeated] = (),
    confidence: float = 95,
    level: Literal["trial", "process", "build", "boot", "host"] | None = None,
    gate: bool = False,
    force: bool = False,
    json: bool = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"])] = False,
) -> int:
    r"""Fit an emulated path to a real one, and certify for which schemes and metrics it may stand for it.

    What the packets of the trials tell is identified first: rate, propagation, queue, loss. What they leave open is searched in
    simulated time. The path is then judged on schemes that it was not fitted to: equivalent within the margin, different, or
    undecided with the number of trials that would decide. NAME.path is a path for any experiment (path = "file:NAME.path"), which
    refuses metrics in which it is different; its certificate is beside it, NAME.certificate.json and NAME.certificate.md. The same
    command goes on after an interruption.

    For example:

    ```text
    trialwise calibrate real.results --hold-out scheme=udp-bbr3,udp-copa \
        -o nepal.path
    trialwise calibrate real.results --hold-out scheme=udp-copa \
        --only path=home --budget 30min --margin loss=0.2 -o home.path
    trialwise calibrate nepal.csv --judge emulated.results --b path=hand \
        -o hand.path
    ```

    Exit codes: 0 done, and with --gate no held-out verdict is different or open; with --gate 1 one is different, and 3 one is
    open; 2 wrong options; 5 a directory that cannot be used; 7 trials that nothing can be fitted to.

    Parameters
    ----------
    real
        The directory of an experiment over the real path whose packets were kept: two rounds or more, ten to tell what is
        equivalent, with a scheme that fills the path.
    out
        The file of the path, NAME.path.
    hold_out
        FACTOR=LEVEL[,LEVEL…]: treatments that the path is not fitted to and on which it is judged; repeatable. Without it each
        treatment is judged by what is fitted to the others.
    only
        FACTOR=LEVEL[,LEVEL…]: use these trials alone, as those over one of several paths; repeatable.
    judge
        Judge the path of this experiment directory by its trials, instead of fitting one: a path that somebody else fitted, or one
        fitted here, with real packets. REAL may then be anything that `trialwise compare` reads, as a table of printed means. With
        --hold-out, the path is chosen from all that the experiment has: the one whose means are nearest in the other treatments.
    from_b
        FACTOR=LEVEL that chooses the trials over one path of --judge; repeatable.
    budget
        Time for the search.
    real_packets
        Compare the three likest paths, and judge what was held out, with real packets, one trial after the other. Needs root, and
        the programs of the schemes; those without a simulated form are then judged, too.
    seed
        Of the search and of all simulated trials.
    margin
        The largest difference that does not matter: 10% of the real mean, or METRIC=0.5 in the metric's unit (throughput in
        Mbit/s, queueing_delay_p50 and queueing_delay_p95 in ms, loss in percent, completion_time in s; with --judge a metric of
        the experiments); repeatable.
    confidence
        Of all verdicts of a table together, in percent.
    level
        The level of inference, instead of the highest that varies, as with `trialwise compare`: what is above it is then taken as
        fixed, as where the emulated trials of --judge ran on another machine.
    gate
        Let the exit code say whether the path passes.
    force
        Write over files that are there.
    json
        Print the certificate as JSON (format trialwise.certificate/1, docs/reference/certificate-json.md).
    quiet
        No progress.
    """
    check_percentage(confidence, "--confidence", least=50)
    places = _places(out)
    for place in places[:3]:
        check_out(place, force=force)
    with StatusLine(f"reading {named(real)}") as patience:
        told = _silent if quiet else patience.going
        if judge is None:
            if from_b:
                raise TrialwiseError(
                    "--b chooses trials of --judge, which is not given", hint="choose real ones with --only"
                )
            from trialwise.study.path_fitting import fit_path

            options = _options(hold_out, only, budget, seed, margin, (confidence, level), real=real_packets)
            with _kept_at(places[3]):
                found = fit_path(real, options, places[3], told)
        else:
            if real_packets:
                raise TrialwiseError(
                    "--real is for a fit: --judge takes trials as they ran",
                    hint="run that experiment without engine",
                )
            found = _judged(real, judge, (only, from_b, hold_out), margin, (confidence, level))
    _write(found, places)
    _say(found, places, json=json)
    if not gate:
        return 0
    return (
        1 if found.certificate.failed else 3 if found.certificate.open or not found.certificate.passed else 0
    )


def _judged(
    real: Path,
    judge: Path,
    chosen: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    margin: tuple[str, ...],
    judging: tuple[float, Level | None],
) -> FittedPath:
    """Judge a path by its trials; `chosen` has what --only, --b and --hold-out say."""
    from trialwise.analysis.comparison.comparing import CompareOptions
    from trialwise.analysis.comparison.sides import selected
    from trialwise.cli.comparison_options import check_named, margins, read_side, selection
    from trialwise.exchange.trials_table import TrialColumns
    from trialwise.study.path_judging import judge_path
    from trialwise.study.sides import with_pantheon_names

    common, own = margins(margin)
    sides = [read_side(path, (), TrialColumns()) for path in (real, judge)]
    only, from_b, hold_out = chosen
    sides = [
        selected(side, wanted, side.name) if wanted else side
        for side, wanted in zip(sides, (selection(only, "--only"), selection(from_b, "--b")), strict=True)
    ]
    check_named(own, sides, "--margin")
    first, second = with_pantheon_names(sides)
    options = CompareOptions(judging[0], common, own, judging[1])
    return judge_path(first, second, judge, from_b, options, hold_out)


@contextmanager
def _kept_at(log: Path) -> Generator[None]:
    """Say after an interruption what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if log.exists():
            stderr_console().print(
                f"stopped; {named(log)} has what was evaluated, and the same command goes on from there",
                markup=False,
            )
        raise


def _silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""


def _options(
    hold_out: tuple[str, ...],
    only: tuple[str, ...],
    budget: str,
    seed: int,
    margin: tuple[str, ...],
    judging: tuple[float, Level | None],
    *,
    real: bool,
) -> FitOptions:
    from trialwise.analysis.comparison.comparing import CompareOptions
    from trialwise.analysis.likeness.values import METRICS
    from trialwise.cli.comparison_options import margins
    from trialwise.experiment.quantity import seconds
    from trialwise.study.path_fitting import FitOptions

    common, own = margins(margin)
    for name in own:
        if name not in METRICS:
            raise TrialwiseError(
                f"--margin {name}=…: there is no such metric", hint=f"there are: {', '.join(METRICS)}"
            )
    try:
        limit = seconds(budget)
    except ValueError as error:
        raise TrialwiseError(f"--budget {budget}: {error}", hint="write a time, as in 30min") from error
    if not limit > 0:
        raise TrialwiseError(f"--budget {budget}: a search takes time", hint="write a time, as in 30min")
    if seed < 0:
        raise TrialwiseError(f"--seed {seed}: is below 0", hint="write a whole number from 0")
    options = CompareOptions(judging[0], common, own, judging[1])
    return FitOptions(hold_out=hold_out, only=only, budget=limit, seed=seed, real=real, judging=options)


def _places(out: Path) -> tuple[Path, Path, Path, Path]:
    """Return the files of the path, of its certificate (JSON and page), and of the evaluations of its search."""
    if out.suffix != _SUFFIX:
        raise TrialwiseError(
            f"{out}: a path file is called NAME{_SUFFIX}", hint=f"write -o {out.stem or 'NAME'}{_SUFFIX}"
        )
    return (
        out,
        out.with_suffix(".certificate.json"),
        out.with_suffix(".certificate.md"),
        out.with_suffix(".evaluations.jsonl"),
    )


def _write(found: FittedPath, places: tuple[Path, ...]) -> None:
    """Write the certificate, then the path that it certifies; the evaluations have done their work."""
    from trialwise.exchange.certificate_json import certificate_document
    from trialwise.report.documents.certificate import document
    from trialwise.report.render.markdown import markdown

    content = certificate_document(found.certificate)
    write_text(places[1], json_text.dumps(content, indent=2, allow_nan=False) + "\n")
    write_text(places[2], markdown(document(found.certificate)))
    write_text(places[0], found.file)
    places[3].unlink(missing_ok=True)


def _say(found: FittedPath, places: tuple[Path, ...], *, json: bool) -> None:
    if json:
        from trialwise.exchange.certificate_json import certificate_document

        print_json(certificate_document(found.certificate))
    else:
        from trialwise.report.documents.certificate import document

        say_document(document(found.certificate))
    for place in places[:3]:
        stderr_console().print(f"wrote {place}", markup=False)
