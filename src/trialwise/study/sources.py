"""What a command is given to conclude from: an experiment directory, what other programs recorded, or a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.analysis.calibration.calibrating import CalibrateOptions, calibrate
from trialwise.analysis.calibration.results import Calibration
from trialwise.analysis.comparison.between import VerdictSummary, between_all, pairs_of
from trialwise.analysis.comparison.comparing import CompareOptions
from trialwise.analysis.effects.directory import EffectsInput
from trialwise.analysis.order.analysing import analyse_order
from trialwise.analysis.order.summary import OrderSummary, view_of
from trialwise.analysis.order.trials import OrderTrials
from trialwise.analysis.progress import Progress
from trialwise.analysis.recorded import Recorded
from trialwise.analysis.results import Analysis
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.result_files import NothingKnownError, read_results, tool_results
from trialwise.exchange.trials_table import TrialColumns
from trialwise.experiment.model import Metric
from trialwise.foreign_files import absent
from trialwise.late import pl
from trialwise.readers.tables.folders import folder_error
from trialwise.store.directory import ExperimentDirectory, latest
from trialwise.study import reading

_NAMED = "name an experiment directory, result files, or a table"


@dataclass(frozen=True, slots=True)
class Directory:
    """An experiment directory of ours."""

    path: Path


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file that no reader of a tool knows, or whose columns are told: each command reads tables as it needs them."""

    path: Path


Source = Directory | Recorded | TableFile


def is_ours(path: Path) -> bool:
    """Return True if a path is an experiment directory, or a folder of pairs of versions."""
    return ExperimentDirectory(latest(path)).is_begun


def source(paths: Sequence[Path], pattern: str | None = None, *, told: bool = False) -> Source:
    """Return what paths stand for; several are files or folders of one tool.

    Parameters
    ----------
    paths
        At least one.
    pattern
        How names of files give factors; None: guessed where the files do not tell.
    told
        Whether the roles of columns are given: then a file that is a table, too, is one.

    Raises
    ------
    AnalysisError
        A path does not exist, is of no known tool, or several are of several; or there is a pattern, and no names of files to read.
    """
    first = paths[0]
    if len(paths) == 1 and is_ours(first):
        _refuse_pattern(first, pattern, "an experiment directory, whose factors are known")
        return Directory(first)
    for path in paths:
        if not path.exists():
            raise absent(path, _NAMED)
        if len(paths) > 1 and is_ours(path):
            raise AnalysisError(
                f"{path}: is an experiment directory, and is read alone", hint="name it without the others"
            )
    if len(paths) == 1 and not (first.is_dir() or first.is_file()):
        return TableFile(first)  # a pipe gives its content once
    try:
        found = tool_results(paths, pattern, told=told)
    except NothingKnownError as error:
        raise (folder_error(first) if len(paths) == 1 else error) from error
    if isinstance(found, Recorded):
        return found
    _refuse_pattern(first, pattern, "a table, whose columns have the factors")
    return TableFile(first)


def _refuse_pattern(path: Path, pattern: str | None, what: str) -> None:
    if pattern is not None:
        raise AnalysisError(
            f"{path}: is {what}; --factor is for names of result files", hint="leave --factor out"
        )


def trials(path: Path, metrics: Sequence[str] = (), columns: TrialColumns | None = None) -> TrialSet:
    """Return the trials of an experiment directory, or of files of other programs, or of a table.

    Raises
    ------
    AnalysisError
        They cannot be read, or a metric does not exist.
    """
    if is_ours(path):
        return reading.trial_set(path, metrics)
    return read_results([path], columns).of(metrics)


def compared_trials(
    path: Path,
    columns: TrialColumns,
    *,
    paired: bool = True,
    told: Progress | None = None,
    controls: reading.ComparedControls | None = None,
) -> TrialSet:
    """Return one side of a comparison, named as the path.

    With `paired`, simulated trials that met the same flows share a name. `told` is called with the progress of reading. `controls` are
    those of `reading.comparison_set`.

    Raises
    ------
    AnalysisError
        The trials cannot be read, or have no controls.
    """
    if not is_ours(path):
        if controls is not None:
            raise AnalysisError(f"{path}: controls are for an experiment directory of simulated trials")
        return read_results([path], columns).trials
    if columns != TrialColumns():
        raise AnalysisError(f"{path}: is an experiment directory; --value and the like are for tables")
    found = reading.comparison_set(path, paired=paired, told=told, controls=controls)
    return dataclasses.replace(found, name=str(path))


def order_of(found: Directory | Recorded, metrics: Sequence[str] = ()) -> OrderTrials:
    """Return the trials with their order.

    Raises
    ------
    AnalysisError
        The order is not known, or a metric does not exist.
    """
    if isinstance(found, Directory):
        return reading.order_trials(found.path, metrics)
    return found.order(metrics)


def order_summary(found: Directory | Recorded) -> OrderSummary:
    """Summarise the effect of order for the report."""
    if isinstance(found, Directory):
        return reading.order_view(found.path)
    try:
        ordered = found.order()
    except AnalysisError as error:
        what = error.message.removeprefix(f"{found.trials.name}: ")
        hint = f"; {error.hint}" if error.hint else ""
        return OrderSummary(None, f"The order is not judged: {what}{hint}.")
    units = {name: facts.unit for name, facts in found.trials.metrics.items()}
    return view_of(ordered, analyse_order(ordered), units)


def table_results(path: Path, columns: TrialColumns, metrics: Sequence[Metric]) -> Recorded:
    """Return the trials of a table for each metric by its own measure, as `compared_trials` reads them for one.

    Raises
    ------
    AnalysisError
        The table cannot be read.
    """
    sets: list[TrialSet] = []
    for measure in dict.fromkeys(metric.measure for metric in metrics):
        own = tuple(metric.name for metric in metrics if metric.measure == measure)
        sets.append(read_results([path], dataclasses.replace(columns, values=own, measure=measure)).trials)
    whole = dataclasses.replace(
        sets[0],
        metrics={name: facts for each in sets for name, facts in each.metrics.items()},
        table=pl.concat(each.table for each in sets),
        notes=tuple(dict.fromkeys(note for each in sets for note in each.notes)),
    )
    return Recorded(trials=whole)


def verdicts_of(
    found: Recorded,
    analysis: Analysis,
    told: Progress | None = None,
    options: CompareOptions | None = None,
) -> VerdictSummary:
    """Summarise the verdicts between treatments of what other programs recorded, for the report.

    `analysis` is of the metrics that are compared, with the units and directions that it knows; `told` is called with what is done,
    and `options` have the margins.
    """
    if len(analysis.series) > 1:
        return VerdictSummary(
            refusal="Treatments are not compared: their trials are of several series. `trialwise compare` takes those of one."
        )
    facts = {
        one.metric.name: dataclasses.replace(
            found.trials.metrics[one.metric.name], unit=one.metric.unit, better=one.metric.better
        )
        for one in analysis.metrics
    }
    trials = dataclasses.replace(found.of(tuple(facts)), metrics=facts)
    if told is not None:
        told("comparing pairs of treatments", 0, len(pairs_of(trials)))
    return between_all(trials, options)


def effects_of(
    found: Directory | Recorded, metrics: Sequence[str] = (), *, samples: bool = False
) -> EffectsInput:
    """Return the trials by their factors, and with `samples` all samples of each.

    Raises
    ------
    AnalysisError
        A metric does not exist, or no trial has a value.
    """
    if isinstance(found, Directory):
        return reading.effects_input(found.path, metrics, samples=samples)
    series = tuple(one for one in found.series() if one.metric in found.check(metrics)) if samples else ()
    return EffectsInput(found.of(metrics), {}, {}, series)


def calibration_of(
    paths: Sequence[Path],
    metrics: Sequence[str] = (),
    options: CalibrateOptions | None = None,
    pattern: str | None = None,
) -> Calibration:
    """Return what repeated trials say about the bench, for `trialwise aa`; `pattern` as in `source`.

    Raises
    ------
    AnalysisError
        The trials cannot be read, or a metric does not exist.
    """
    found = source(paths, pattern)
    if isinstance(found, Directory):
        return reading.calibration(found.path, metrics, options)
    recorded = read_results(paths) if isinstance(found, TableFile) else found
    return recorded_calibration(recorded, metrics, options)


def recorded_calibration(
    found: Recorded, metrics: Sequence[str] = (), options: CalibrateOptions | None = None
) -> Calibration:
    """Return what repeated trials that other programs recorded say about the bench; values of one process are one.

    Raises
    ------
    AnalysisError
        A metric does not exist.
    """
    kept = dataclasses.replace(found, trials=found.of(metrics)).units()
    return dataclasses.replace(calibrate(kept, options), source=found.trials.name)
