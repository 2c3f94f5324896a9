"""`trialwise runtime`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.output import print_json
from trialwise.cli.plots import check_percentage, checked_plot, write_plot
from trialwise.cli.reading import ReadingOptions, refuse_table_options
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import TrialwiseError

if TYPE_CHECKING:
    from trialwise.analysis.runtime.pilots import Pilot, Question
    from trialwise.analysis.runtime.results import RuntimeAdvice
    from trialwise.experiment.model import Experiment
    from trialwise.readers.tables.dialect import Dialect
    from trialwise.store.directory import ExperimentDirectory
    from trialwise.store.ledger import Ledger


def runtime(
    data: Path,
    /,
    *,
    value: str | None = None,
    time: str | None = None,
    trial: str | None = None,
    metric: str | None = None,
    measure: str | None = None,
    tolerance: float | None = None,
    confidence: float | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
    plot: Path | None = None,
    reading: ReadingOptions | None = None,
) -> int:
    r"""Say from long pilot trials how long a trial must be for its metric to be steady, and what start-up to cut.

    A table holds the samples of one pilot, or of several (--trial). In an experiment directory, every metric with
    samples is looked at, for each treatment (the three longest trials of each); the longest need wins. Of simulated
    trials all flows are looked at: their phases, and what few flows in a trial do to its metric.

    For example:

    ```text
    trialwise runtime pilot.csv --value throughput --time t
    trialwise runtime pilots.parquet --value delay --time t --trial run \
        --measure p95 --plot settles.html
    trialwise runtime pilot.results --metric throughput
    trialwise runtime simulation.results --metric p99 --tolerance 2 \
        --plot duration.html
    ```

    Exit codes: 0 also where no runtime can be given; 2 wrong options or columns that have to be named; 5 a directory
    that cannot be used or a plot that cannot be written; 7 data that cannot be read or are too few.

    Parameters
    ----------
    data
        A CSV or Parquet file, or an experiment directory.
    value
        The column of samples; default: the only one of numbers.
    time
        The column of times in seconds, or dates; default: the only one there is. Without it, lengths are in samples.
    trial
        The column that says which pilot a row belongs to; default: all rows are one.
    metric
        The metric of an experiment directory; default: all that have samples.
    measure
        mean, median, min, max, or a percentile such as p95; default: that of the metric, mean for a table.
    tolerance
        The largest harmless drift over a trial, or bias of a simulated one, in percent of the metric; default: that of
        the metric, else 5.
    confidence
        Of each side of the drift test, or of the intervals of simulated trials, in percent; default: that of the metric,
        else 95.
    json
        Print the answer as JSON (format trialwise.runtime/1, docs/reference/condition-json.md).
    plot
        Write how the metric settles, or depends on the duration of simulated trials, as a figure: a file ending in
        .html, .svg, .pdf or .png.
    """
    checked_plot(plot)
    check_percentage(tolerance, "--tolerance")
    check_percentage(confidence, "--confidence", least=50)
    from trialwise.analysis.runtime.pilots import Question
    from trialwise.cli.tables import measure_named

    question = Question(None if measure is None else measure_named(measure), tolerance, confidence)
    if data.is_dir():
        refuse_table_options(data, given=False)
        for option, given in (("--value", value), ("--time", time), ("--trial", trial)):
            if given is not None:
                raise TrialwiseError(f"{option} is for tables; {data} is a directory", hint="name a --metric")
        if reading is not None and reading.given():
            raise TrialwiseError(f"--decimal and the like are for tables; {data} is a directory")
        advice, pilots = _of_directory(data, question, metric)
    elif metric is not None:
        raise TrialwiseError(f"--metric is for experiment directories; {data} is none", hint="name a --value")
    else:
        pilots, notes = _of_table(data, question, value, time, trial, (reading or ReadingOptions()).dialect())
        advice = _advice(data, pilots, notes)
    _show(advice, pilots, plot, json=json)
    return 0


def _of_directory(data: Path, question: Question, metric: str | None) -> tuple[RuntimeAdvice, list[Pilot]]:
    """Return the advice for a directory, and its pilots; simulated trials have none."""
    from trialwise import study
    from trialwise.analysis.runtime.pilots import pilots_of_directory

    experiment, directory, ledger = study.open_directory(data)
    try:
        if experiment.trial.traits.workload is not None:
            return _of_simulation(experiment, directory, ledger, question, metric), []
        pilots, notes = pilots_of_directory(experiment, directory, ledger, question, metric)
    finally:
        ledger.close()
    return _advice(data, pilots, notes), pilots


def _of_simulation(
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    question: Question,
    metric: str | None,
) -> RuntimeAdvice:
    from trialwise.analysis.runtime.simulation import simulation_runtime

    with StatusLine("reading the flows of all trials") as patience:
        return simulation_runtime(
            experiment,
            directory,
            ledger,
            question,
            metric,
            watch=lambda done, total: patience.going("looking at treatments", done, total),
        )


def _of_table(
    data: Path,
    question: Question,
    value: str | None,
    time: str | None,
    trial: str | None,
    dialect: Dialect,
) -> tuple[list[Pilot], list[str]]:
    from trialwise.analysis.conditions.table import read_conditions
    from trialwise.analysis.runtime.pilots import doubts_of_table, pilots_of_table

    table = read_conditions(data, time=time, value=value, trial=trial, needs_time=False, dialect=dialect)
    return pilots_of_table(table, question), [*table.notes, *doubts_of_table(table)]


def _advice(data: Path, pilots: list[Pilot], notes: list[str]) -> RuntimeAdvice:
    from trialwise.analysis.runtime.advising import runtime_advice

    with StatusLine("looking for the start-up and the drift of the pilots") as patience:
        return runtime_advice(
            str(data),
            pilots,
            notes=tuple(notes),
            watch=lambda done, total: patience.say(f"looking at pilots: {done} of {total} done"),
        )


def _show(advice: RuntimeAdvice, pilots: list[Pilot], plot: Path | None, *, json: bool) -> None:
    if json:
        from trialwise.exchange.condition_json import condition_document

        print_json(condition_document(advice))
    else:
        from trialwise.report.documents.runtime import document

        say_document(document(advice))
    if plot is not None:
        write_plot(plot, lambda: _page(advice, pilots), lambda path: _print(advice, pilots, path))


def _page(advice: RuntimeAdvice, pilots: list[Pilot]) -> str:
    from trialwise.report.figures.conditions import runtime_page, simulation_runtime_page

    return simulation_runtime_page(advice) if advice.durations else runtime_page(advice, pilots)


def _print(advice: RuntimeAdvice, pilots: list[Pilot], path: Path) -> None:
    if advice.durations:
        from trialwise.report.figures.conditions import write_durations

        write_durations(advice, path)
        return
    from trialwise.report.figures.conditions import write_runtime

    write_runtime(advice, pilots, path)
