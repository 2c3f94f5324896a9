"""`trialwise tilt`."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from trialwise.cli.files import PRINTED, check_out, write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import print_data, say_document
from trialwise.errors import TrialwiseError
from trialwise.experiment.quantity import duration_text

if TYPE_CHECKING:
    from trialwise.experiment.model import Experiment
    from trialwise.study.tilt_document import TiltDocument
    from trialwise.study.tilt_search import TiltOptions

_ENDINGS = PRINTED


def tilt(
    experiment: Path,
    /,
    *,
    metric: str | None = None,
    method: Literal["defensive", "cross-entropy", "weighted"] = "defensive",
    epochs: int = 10,
    cycles: int | None = None,
    seed: int = 1,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"], allow_leading_hyphen=True)] = None,
    plot: Path | None = None,
    force: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    r"""Choose from which sizes flows are drawn, so that a tail quantile of simulated trials takes fewer of them.

    Importance sampling for far tails of short trials: trials draw large flows more often, and weights make up for it in the estimate.
    Says what each tilt is worth on a fluid model, and where none is.

    For example:

    ```text
    trialwise tilt dumbbell.toml --out tilted.toml
    trialwise tilt dumbbell.toml --method cross-entropy --plot sizes.svg \
        --out paper.toml
    trialwise tilt dumbbell.toml --metric p999 --json
    ```

    Exit codes: 0 also where no tilt is better; 2 an experiment that cannot be tilted, or a file that is there; 5 a file that cannot be
    written; 130 interrupted.

    Parameters
    ----------
    experiment
        The experiment file.
    metric
        A percentile of completion times; default the first one.
    method
        defensive: the workload's own sizes at other ranks, with bounded weights, or none. cross-entropy: CCEval's Algorithm 1 as
        printed, on the packet simulator, from a lognormal fit. weighted: the same with weights, on the fluid model.
    epochs
        Of the search (cross-entropy, weighted).
    cycles
        Trials of each epoch; default 10 as printed, for weighted as many as show a thousand flows of the tail. defensive: trials of
        the fluid model for each strength, default 4000, and at least as many as show a thousand flows of the tail.
    seed
        Of the search.
    out
        Write the tilted experiment to this file; - for standard output.
    plot
        Draw the distribution of sizes and the four families fitted to it: a file ending in .svg, .pdf or .png.
    force
        Overwrite files that are there.
    json
        Print the results as JSON (format trialwise.tilt/1, docs/reference/simulation.md).
    """
    from trialwise.study.tilt_search import TiltOptions

    _check(epochs, cycles, seed, out, plot, force=force, json=json)
    options = TiltOptions(method, epochs, cycles, seed)
    document, tilted = _searched(experiment, metric, options)
    if plot is not None:
        _draw(plot, experiment, document)
    if out is not None:
        _write(out, experiment, tilted, document)
    if json:
        print_json(dataclasses.asdict(document))
    elif out is None or str(out) != "-":
        from trialwise.report.documents import tilt as documents

        say_document(documents.document(document, tuple(_tables(tilted)) if out is None else ()))
    return 0


def _check(
    epochs: int,
    cycles: int | None,
    seed: int,
    out: Path | None,
    plot: Path | None,
    *,
    force: bool,
    json: bool,
) -> None:
    for name, number, least in (("epochs", epochs, 1), ("cycles", cycles, 1), ("seed", seed, 0)):
        if number is not None and number < least:
            raise TrialwiseError(f"--{name} {number}: expected an integer ≥ {least}")
    for path in (out, plot):
        if path is not None and str(path) != "-":
            check_out(path, force=force)
    if plot is not None and plot.suffix.lower() not in _ENDINGS:
        raise TrialwiseError(f"--plot {plot}: the ending says the format; allowed: {', '.join(_ENDINGS)}")
    if json and out is not None and str(out) == "-":
        raise TrialwiseError(
            "--json and --out - both write to standard output", hint="name a file: --out tilted.toml"
        )


def _searched(path: Path, metric: str | None, options: TiltOptions) -> tuple[TiltDocument, Experiment]:
    from trialwise import study
    from trialwise.study.tilt_document import TiltDocument
    from trialwise.study.tilting import choose_tilts, goes_with_a_tilt, tilt_metric

    experiment = study.load(path)
    chosen = tilt_metric(experiment, metric)
    started = time.perf_counter()
    with StatusLine("looking for a tilt") as patience:

        def told(name: str, done: int, total: int) -> None:
            left = (time.perf_counter() - begun[name]) / done * (total - done) if done else None
            ends = "" if left is None else f", about {duration_text(round(left))} left"
            patience.say(f"looking for the tilt {name}: trial {done + 1} of {total}{ends}")

        begun = _FirstTimes()
        choices, tilted = choose_tilts(experiment, chosen, options, told)
    document = TiltDocument(
        experiment=experiment.name,
        metric=chosen.name,
        seed=options.seed,
        seconds=time.perf_counter() - started,
        choices=tuple(choices),
        left_out=tuple(each.name for each in experiment.metrics if not goes_with_a_tilt(each)),
    )
    return document, tilted


class _FirstTimes(dict[str, float]):
    """The time at which each name was first requested."""

    def __missing__(self, name: str) -> float:
        self[name] = time.perf_counter()
        return self[name]


# What is written


def _write(out: Path, source: Path, tilted: Experiment, document: TiltDocument) -> None:
    from trialwise.experiment.reading import parse_experiment
    from trialwise.experiment.writing import write_experiment

    text = f"# By: trialwise tilt {source}; for {document.metric}\n{write_experiment(tilted)}"
    if str(out) == "-":
        print_data(text)
        return
    if out.resolve().parent != source.resolve().parent:
        stderr_console().print(f"files that {source} names are looked up beside {out}", markup=False)
    parse_experiment(text, out)
    write_text(out, text)
    stderr_console().print(f"wrote {out}", markup=False)


def _draw(plot: Path, source: Path, document: TiltDocument) -> None:
    from trialwise import study
    from trialwise.cli.plots import write_plot
    from trialwise.report.figures.size_fit import write_size_fits
    from trialwise.study.tilting import size_fits

    sizes, shares, fits = size_fits(study.load(source))
    write_plot(plot, str, lambda to: write_size_fits(to, sizes, shares, fits, document.experiment))


def _tables(tilted: Experiment) -> Iterator[str]:
    """Yield the tables to add to the experiment file."""
    from trialwise.experiment.simulation import SimulationTrial
    from trialwise.experiment.tilts import tilt_table
    from trialwise.experiment.toml_writing import table_lines, toml_key
    from trialwise.experiment.traits import assumed

    trial = assumed(tilted.trial, SimulationTrial)
    yield f'# to use it: --out FILE, or tilt = "{trial.workload.tilt}" in trial.workload and'
    for name, tilt in trial.tilts:
        yield from table_lines(f"tilts.{toml_key(name)}", tilt_table(tilt))
