"""Where the trials of a notebook come from: an experiment directory, files of other tools, or a table."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from trialwise.errors import AnalysisError, TrialwiseError
from trialwise.experiment.defaults import default_bound
from trialwise.experiment.model import Better, Bound, Convergence, Kpi, Measure, Method, Metric, Variability
from trialwise.late import pl

if TYPE_CHECKING:
    from trialwise.analysis.calibration.calibrating import CalibrateOptions
    from trialwise.analysis.calibration.results import Calibration
    from trialwise.analysis.comparison.between import VerdictSummary
    from trialwise.analysis.effects.directory import EffectsInput
    from trialwise.analysis.order.summary import OrderSummary
    from trialwise.analysis.order.trials import OrderTrials
    from trialwise.analysis.recorded import Recorded
    from trialwise.analysis.results import Analysis
    from trialwise.analysis.trial_set import TrialSet

_SAID_IN_FILE = "its experiment file says what is claimed"


@dataclass(frozen=True, slots=True)
class Columns:
    """The roles of a table's columns, and what is known of metrics that files do not say."""

    value: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    series: str | None = None
    trial: str | None = None
    time: str | None = None
    measure: Measure = "mean"
    unit: Mapping[str, str] = field(default_factory=dict[str, str])
    better: Mapping[str, Better] = field(default_factory=dict[str, Better])

    @property
    def of_table(self) -> bool:
        """True if a role of a column is given."""
        return replace(self, unit={}, better={}) != Columns()


@dataclass(frozen=True, slots=True)
class Claims:
    """What is to be claimed about metrics, in percent: a KPI, convergence inside trials, variability over series."""

    percentile: float | Mapping[str, float] | None = None
    confidence: float = 95.0
    bound: Bound | None = None
    convergence: tuple[float, float] | None = None
    variability: tuple[float, float] | None = None

    def of(self, metric: Metric) -> Metric:
        """Return a metric with these claims."""
        asked, level = self.percentile, self.confidence
        way = asked.get(metric.name) if isinstance(asked, Mapping) else asked
        side = None if way is None else self.bound or default_bound(way, metric.better)
        return replace(
            metric,
            kpis=() if way is None or side is None else (Kpi(way, level, side),),
            convergence=None if self.convergence is None else Convergence(*self.convergence),
            variability=None if self.variability is None else Variability(*self.variability),
        )


class Source(Protocol):
    """What answers the questions of a notebook."""

    name: str

    def trials(self) -> TrialSet:
        """Return one value for each trial and metric."""
        ...

    def compared(self, metrics: Sequence[str], *, paired: bool) -> TrialSet:
        """Return the trials as `compare` reads a side."""
        ...

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Return the pairs of treatments to compare, the reference first."""
        ...

    def analysis(self, metrics: Sequence[str], claims: Claims, method: Method) -> Analysis:
        """Return the analysis of some metrics, or of all."""
        ...

    def order(self, metrics: Sequence[str], columns: Mapping[str, object]) -> OrderTrials:
        """Return the trials with their order; `columns` are roles in a table."""
        ...

    def effects(self, metrics: Sequence[str], *, samples: bool) -> EffectsInput:
        """Return the trials by their factors."""
        ...

    def calibration(self, metrics: Sequence[str], options: CalibrateOptions) -> Calibration:
        """Return what the trials say about the bench."""
        ...

    def samples(self, metric: str) -> pl.LazyFrame:
        """Return the samples inside trials."""
        ...

    def views(self, analysis: Analysis) -> tuple[OrderSummary | None, VerdictSummary | None]:
        """Return what the report of an analysis says of the order and of pairs of treatments."""
        ...


class Directory:
    """An experiment directory."""

    def __init__(self, path: Path, columns: Columns) -> None:
        if columns != Columns():
            raise AnalysisError(f"{path}: is an experiment directory; columns are for tables")
        self.name = str(path)
        self.path = path

    def trials(self) -> TrialSet:
        """Return one value for each trial and metric."""
        from trialwise import study

        return study.trial_set(self.path)

    def compared(self, metrics: Sequence[str], *, paired: bool) -> TrialSet:
        """Return the trials as `compare` reads a side."""
        from trialwise import study
        from trialwise.analysis.comparison.sides import with_metrics

        found = replace(study.comparison_set(self.path, paired=paired), name=self.name)
        return with_metrics(found, metrics)

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Return the pairs that the experiment compares."""
        from trialwise import study
        from trialwise.design.stopping import comparisons

        return comparisons(study.load(self.path))

    def analysis(self, metrics: Sequence[str], claims: Claims, method: Method) -> Analysis:
        """Return the analysis; what is claimed stands in the experiment file."""
        from trialwise import study

        if claims != Claims():
            raise AnalysisError(
                f"{self.path}: {_SAID_IN_FILE}", hint="leave percentile, convergence and variability out"
            )
        found = study.analyse(self.path, method)
        check_metrics(self.name, metrics, [one.metric.name for one in found.metrics])
        kept = tuple(one for one in found.metrics if not metrics or one.metric.name in metrics)
        return replace(found, metrics=kept)

    def order(self, metrics: Sequence[str], columns: Mapping[str, object]) -> OrderTrials:
        """Return the trials with their order."""
        from trialwise import study

        if columns:
            raise AnalysisError(f"{self.path}: is an experiment directory; columns are for tables")
        return study.order_trials(self.path, metrics)

    def effects(self, metrics: Sequence[str], *, samples: bool) -> EffectsInput:
        """Return the trials by their factors."""
        from trialwise import study

        return study.effects_input(self.path, metrics, samples=samples)

    def calibration(self, metrics: Sequence[str], options: CalibrateOptions) -> Calibration:
        """Return what the trials say about the bench."""
        from trialwise import study

        return study.calibration(self.path, metrics, options)

    def samples(self, metric: str) -> pl.LazyFrame:
        """Return the samples inside trials; files are read as rows are asked for."""
        from trialwise.study.sample_frames import lazy_samples

        return lazy_samples(self.path, metric)

    def views(self, analysis: Analysis) -> tuple[OrderSummary | None, VerdictSummary | None]:  # noqa: ARG002 it is the directory's
        """Return what the report says of the order and of pairs of treatments."""
        from trialwise import study

        return study.order_view(self.path), study.verdict_view(self.path)


class Files:
    """What other programs recorded."""

    def __init__(self, recorded: Recorded, columns: Columns) -> None:
        if columns.of_table:
            raise AnalysisError(f"{recorded.trials.name}: is no table; value and the like are for tables")
        self.name = recorded.trials.name
        self.columns = columns
        self._read = recorded

    def recorded(self) -> Recorded:
        """Return the trials with what is known beside their values."""
        return replace(self._read, trials=told(self._read.trials, self.columns))

    def trials(self) -> TrialSet:
        """Return one value for each trial and metric."""
        return self.recorded().trials

    def compared(self, metrics: Sequence[str], *, paired: bool) -> TrialSet:  # noqa: ARG002 nothing pairs them
        """Return the trials as `compare` reads a side."""
        from trialwise.analysis.comparison.sides import with_metrics

        return with_metrics(self.trials(), metrics)

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Return all pairs of treatments that measured the same."""
        from trialwise.analysis.comparison.between import pairs_of

        return pairs_of(self.trials())

    def analysis(self, metrics: Sequence[str], claims: Claims, method: Method) -> Analysis:
        """Return the analysis of the trials."""
        from trialwise.analysis.of_trials import analyse_recorded

        found = self.recorded()
        known = found.trials.metrics
        wanted = [self.metric(name, claims, known[name].better) for name in found.check(metrics)]
        return analyse_recorded(found, wanted, method)

    def metric(self, name: str, claims: Claims, better: Better | None = None) -> Metric:
        """Return a metric as an experiment file would declare it."""
        from trialwise.experiment.sources import TextSource

        own = self.columns
        metric = Metric(
            name=name,
            source=TextSource(path=self.name, csv=name, time=own.time if own.trial else None),
            measure=own.measure,
            unit=own.unit.get(name, ""),
            better=own.better.get(name) or better,
        )
        return claims.of(metric)

    def order(self, metrics: Sequence[str], columns: Mapping[str, object]) -> OrderTrials:
        """Return the trials with their order, where it is known."""
        if columns:
            raise AnalysisError(f"{self.name}: is no table; columns are for tables")
        return self.recorded().order(metrics)

    def effects(self, metrics: Sequence[str], *, samples: bool) -> EffectsInput:
        """Return the trials by their factors."""
        from trialwise.study.sources import effects_of

        return effects_of(self.recorded(), metrics, samples=samples)

    def calibration(self, metrics: Sequence[str], options: CalibrateOptions) -> Calibration:
        """Return what the trials say about the bench."""
        from trialwise.study.sources import recorded_calibration

        return recorded_calibration(self.recorded(), metrics, options)

    def samples(self, metric: str) -> pl.LazyFrame:
        """Return the samples inside trials."""
        from trialwise.study.sample_frames import recorded_samples

        return recorded_samples(self.recorded(), metric)

    def views(self, analysis: Analysis) -> tuple[OrderSummary | None, VerdictSummary | None]:
        """Return what the report says of the order and of pairs of treatments."""
        from trialwise.study.sources import order_summary, verdicts_of

        found = self.recorded()
        return order_summary(found), verdicts_of(found, analysis)


class Table(Files):
    """A table in long form, which each question reads as its command does."""

    def __init__(self, path: Path, columns: Columns, name: str = "") -> None:
        self.name = name or str(path)
        self.path = path
        self.columns = columns
        self._found: Recorded | None = None

    def recorded(self) -> Recorded:
        """Return the trials of the table."""
        from trialwise.exchange.result_files import read_results
        from trialwise.exchange.trials_table import TrialColumns

        if self._found is None:
            own = self.columns
            with self._called():
                read = read_results([self.path], TrialColumns(own.value, own.group, own.trial, own.measure))
            self._found = replace(read, trials=replace(told(read.trials, own), name=self.name))
        return self._found

    def analysis(self, metrics: Sequence[str], claims: Claims, method: Method) -> Analysis:
        """Return the analysis of the table."""
        if not self.columns.value:
            return super().analysis(metrics, claims, method)
        from trialwise.analysis.table import TableColumns, analyse_table

        own = self.columns
        check_metrics(self.name, metrics, own.value)
        has_samples = own.measure != "mean" or claims.convergence is not None
        columns = TableColumns(own.group, own.series, own.trial, None, own.time, samples=has_samples)
        wanted = [self.metric(name, claims) for name in metrics or own.value]
        with self._called():
            return analyse_table(self.path, columns, wanted, method)

    def order(self, metrics: Sequence[str], columns: Mapping[str, object]) -> OrderTrials:
        """Return the trials with their order, from columns of the table."""
        from trialwise.analysis.order.trials import OrderColumns, read_order_table

        with self._called():
            return read_order_table(self.path, OrderColumns(metrics=tuple(metrics), **columns))  # pyright: ignore[reportArgumentType] it checks

    def effects(self, metrics: Sequence[str], *, samples: bool) -> EffectsInput:
        """Return the trials by their factors, which are the columns of groups."""
        from trialwise.analysis.effects.directory import EffectsInput
        from trialwise.analysis.effects.table import EffectColumns, read_effects_table

        own = self.columns
        if not own.group or not own.value:
            return super().effects(metrics, samples=samples)
        columns = EffectColumns(own.group, own.value, own.trial, own.time, tuple(metrics), own.measure)
        with self._called():
            trials, series = read_effects_table(self.path, columns)
        return EffectsInput(trials, {}, {}, series)

    @contextmanager
    def _called(self) -> Generator[None]:
        """Have errors name the table as the user knows it: a DataFrame has no path."""
        try:
            yield
        except TrialwiseError as error:
            path = str(self.path)
            hint = error.hint and error.hint.replace(path, self.name)
            raise type(error)(error.message.replace(path, self.name), hint=hint) from error

    def views(self, analysis: Analysis) -> tuple[OrderSummary | None, VerdictSummary | None]:
        """Return that a table says nothing of the order, and what the report says of pairs of treatments."""
        from trialwise.analysis.order.summary import NOT_FROM_TABLE, OrderSummary
        from trialwise.study.sources import verdicts_of

        return OrderSummary(None, NOT_FROM_TABLE), verdicts_of(self.recorded(), analysis)


def check_metrics(name: str, wanted: Sequence[str], there: Sequence[str] | Mapping[str, object]) -> None:
    """Refuse a metric that is not there.

    Raises
    ------
    AnalysisError
        It is not.
    """
    for metric in wanted:
        if metric not in there:
            raise AnalysisError(f"{name}: no metric {metric!r}", hint=f"there are: {', '.join(there)}")


def told(trials: TrialSet, columns: Columns) -> TrialSet:
    """Apply units and directions that files do not say.

    Raises
    ------
    AnalysisError
        There is no such metric.
    """
    check_metrics(trials.name, [*columns.unit, *columns.better], trials.metrics)
    metrics = {
        name: replace(
            facts,
            unit=columns.unit.get(name, facts.unit),
            better=columns.better.get(name, facts.better),
        )
        for name, facts in trials.metrics.items()
    }
    return replace(trials, metrics=metrics)
