"""What was measured, and the questions that one asks of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from trialwise.errors import AnalysisError
from trialwise.experiment.model import Better, Bound, Extent, Method
from trialwise.late import pl
from trialwise.notebook.plots import Plot, Plots
from trialwise.notebook.results import Page, Result
from trialwise.notebook.sources import Claims, Source
from trialwise.numbers import counted

if TYPE_CHECKING:
    from trialwise.analysis.calibration.results import Calibration
    from trialwise.analysis.comparison.comparing import CompareOptions
    from trialwise.analysis.comparison.results import Comparison
    from trialwise.analysis.effects.paper_results import PaperEffects
    from trialwise.analysis.effects.results import EffectsAnalysis
    from trialwise.analysis.order.results import OrderAnalysis
    from trialwise.analysis.results import Analysis
    from trialwise.analysis.trial_set import Level, TrialSet
    from trialwise.report.figures.plot_data import ColumnData

Names = str | Sequence[str]
Margin = str | float
"""A difference: "3%" of the base's mean, or a number in the metric's unit."""
Chosen = Mapping[str, str | Sequence[str]]
"""Levels by factor."""


class Data:
    """The trials of one experiment, or of files that belong together; `load` makes it.

    Each question is answered by what computes the command of the same name, with its numbers and its document.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    @property
    def name(self) -> str:
        """Where the data come from."""
        return self.source.name

    @cached_property
    def _set(self) -> TrialSet:
        return self.source.trials()

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics."""
        return tuple(self._set.metrics)

    @property
    def treatments(self) -> tuple[str, ...]:
        """The names of the treatments."""
        return tuple(self._set.treatments)

    @property
    def trials(self) -> pl.DataFrame:
        """A row for each metric of each trial that has a value, with a column for each factor.

        `started` is in Unix seconds.
        """
        found = self._set
        factors = dict.fromkeys(name for levels in found.treatments.values() for name in levels)
        levels = [
            pl.col("treatment")
            .replace_strict(
                {treatment: own.get(name) for treatment, own in found.treatments.items()}, default=None
            )
            .alias(name)
            for name in factors
            if name not in found.table.columns
        ]
        return found.table.with_columns(levels)

    def to_pandas(self, metric: str | None = None) -> Any:  # noqa: ANN401 pandas is not needed, and has no types here
        """Return `trials` as a pandas DataFrame, or all samples of a metric; pyarrow is not needed.

        Raises
        ------
        AnalysisError
            pandas is not installed, or as `samples`.
        """
        from trialwise.notebook.pandas_frames import pandas_of

        return pandas_of(self.trials if metric is None else self.samples(metric).collect())

    def samples(self, metric: str) -> pl.LazyFrame:
        """Return the samples inside each trial of a metric: trial, treatment, series, round, position, time (in s), value.

        Files are read as rows are asked for: `.head(10).collect()` reads the first ones.

        Raises
        ------
        AnalysisError
            There is no such metric, or the data hold one value for each trial.
        """
        return self.source.samples(metric)

    def kpi(
        self,
        metric: Names = (),
        *,
        percentile: float | Mapping[str, float] | None = None,
        confidence: float = 95,
        bound: Bound | None = None,
        convergence: tuple[float, float] | None = None,
        variability: tuple[float, float] | None = None,
        method: Method = "default",
    ) -> Result[Analysis]:
        """Say what can be claimed about each metric, as `trialwise analyze` does.

        Parameters
        ----------
        metric
            The metrics; default all.
        percentile
            The KPI's percentile, also by metric, with its `confidence` in percent and its `bound`, "lower" or "upper"; by default
            the percentile's natural side. An experiment directory has its own KPIs.
        convergence
            Test convergence inside trials: confidence and tolerance in percent.
        variability
            Score of variability over series: percentile and confidence in percent.
        method
            "default", or "paper" for the methods of the TriScale paper.
        """
        from trialwise.exchange.analysis_json import analysis_document
        from trialwise.report.documents.analyze import asks_which_is_best, document
        from trialwise.report.printed import all_figures

        claims = Claims(percentile, confidence, bound, convergence, variability)
        found = self.source.analysis(_names(metric), claims, method)
        return Result(
            found,
            document(found, verdicts=self.source.views(found)[1] if asks_which_is_best(found) else None),
            lambda: analysis_document(found),
            lambda sheets: all_figures(found, None, None, sheets),
        )

    def compare(
        self,
        other: Data | None = None,
        *,
        a: Chosen | None = None,
        b: Chosen | None = None,
        margin: Margin | Mapping[str, Margin] | None = None,
        metric: Names = (),
        confidence: float = 95,
        level: Level | None = None,
        paired: bool = True,
    ) -> Result[Comparison]:
        """Compare `other` with these data, two sets of treatments, or all pairs of treatments, as `trialwise compare` does.

        Parameters
        ----------
        other
            What is compared with these data, which are the base: differences are `other` minus these.
        a, b
            Levels by factor of the base, and of what is compared with it, such as `a={"scheme": "cubic"}`. Without them and without
            `other`, the pairs that the experiment compares are judged in one family.
        margin
            The largest difference that does not matter: "3%", or a number in the metric's unit; also by metric. Default what the
            experiment says.
        metric
            The metrics; default all.
        confidence
            Of all verdicts together, in percent.
        level
            The level of inference: "host", "boot", "build", "process" or "trial"; default the highest that varies.
        paired
            Simulated trials of one round met the same flows, and are compared as pairs.
        """
        from trialwise.analysis.comparison.comparing import CompareOptions
        from trialwise.analysis.comparison.comparing import compare as compare_sides
        from trialwise.exchange.comparison_json import comparison_document
        from trialwise.report.documents.compare import document
        from trialwise.report.figures.compared import compared_figures

        common, own = _margins(margin)
        options = CompareOptions(confidence, common, own, level)
        if other is None and a is None and b is None:
            sides: list[TrialSet] = []
            found = self._between(options, _names(metric), paired=paired)
        else:
            sides = self._sides(other, a, b, _names(metric), paired=paired)
            found = compare_sides(sides[0], sides[1], options)
        return Result(
            found,
            document(found),
            lambda: comparison_document(found),
            lambda sheets: compared_figures(found, (), sides, sheets),
        )

    def _between(self, options: CompareOptions, metrics: Sequence[str], *, paired: bool) -> Comparison:
        from trialwise.analysis.comparison.between import between_treatments

        trials = self.source.compared(metrics, paired=paired)
        found = between_treatments(trials, self.source.pairs(), options).comparison
        if found is None or not found.rows:
            raise AnalysisError(
                f"{self.name}: no two treatments have a value of the same metric",
                hint="compare it with other data: one.compare(another)",
            )
        return found

    def _sides(
        self,
        other: Data | None,
        a: Chosen | None,
        b: Chosen | None,
        metrics: Sequence[str],
        *,
        paired: bool,
    ) -> list[TrialSet]:
        from trialwise.analysis.comparison.sides import selected, text_of
        from trialwise.study.sides import with_pantheon_names

        if other is None and (a is None or b is None):
            raise AnalysisError("one side only is chosen", hint="name both a and b, or other data")
        sources = (self.source, self.source if other is None else other.source)
        sides: list[TrialSet] = []
        for source, chosen in zip(sources, (a, b), strict=True):
            side = source.compared(metrics, paired=paired)
            if chosen is not None:
                wanted = {factor: _levels(levels) for factor, levels in chosen.items()}
                text = text_of(wanted)
                side = selected(side, wanted, text if other is None else f"{side.name} {text}")
            sides.append(side)
        return with_pantheon_names(sides)

    def order(
        self,
        metric: Names = (),
        *,
        margin: str | float = "1%",
        confidence: float = 95,
        alpha: float = 0.05,
        better: Better | None = None,
        correction: Literal["holm", "bonferroni", "none"] | None = None,
        method: Method = "default",
        **columns: str,
    ) -> Result[OrderAnalysis]:
        """Say whether the order in which treatments ran changes the results, as `trialwise order` does.

        Parameters
        ----------
        metric
            The metrics; default all.
        margin
            The difference that would matter, in percent of the median under fixed order.
        confidence
            Of intervals, in percent.
        alpha
            Level of each family, as a share.
        better
            Which direction wins a comparison.
        correction
            For the number of comparisons in a family; default "holm", in the paper's method "bonferroni".
        method
            "default", or "paper" for Kruskal-Wallis and the CI cases alone.
        columns
            Columns of a table: treatment, order, round, position, value, worker; and its words for `fixed` and `random` order.
        """
        from trialwise.analysis.order.analysing import OrderOptions, analyse_order
        from trialwise.analysis.order.summary import view_of
        from trialwise.exchange.order_json import order_document
        from trialwise.report.documents.order import document
        from trialwise.report.figures.order import order_figures

        trials = self.source.order(_names(metric), columns)
        size = _extent(margin).value
        found = analyse_order(trials, OrderOptions(method, correction, alpha, confidence, size, (), better))
        return Result(
            found,
            document(found),
            lambda: order_document(found),
            lambda sheets: (
                figure
                for group in order_figures(view_of(trials, found), {}, sheets)
                for figure in group.figures
            ),
        )

    def effects(
        self,
        metric: Names = (),
        *,
        by: Names = (),
        base: Mapping[str, str] | None = None,
        margin: Margin | Mapping[str, Margin] | None = None,
        method: Literal["welch", "ordinary", "freedman_lane", "raw_permutation", "paper"] = "welch",
        confidence: float = 95,
        level: Level | None = None,
        permutations: int = 9999,
        seed: int = 0,
    ) -> Result[EffectsAnalysis | PaperEffects]:
        """Say which factors matter, alone and together, as `trialwise effects` does.

        Parameters
        ----------
        metric
            The metrics; default all.
        by
            Factors whose levels are analysed each by itself.
        base
            Level by factor that the others are compared with; default what the experiment says, else the first.
        margin
            The difference that would matter: "3%" of the base, or a number in the metric's unit; also by metric.
        method
            "welch", "ordinary", "freedman_lane", "raw_permutation", or "paper" for the OML study's procedure.
        confidence
            Of each interval and of each family of tests, in percent.
        level
            The level of inference; default the highest that varies.
        permutations, seed
            How many arrangements are drawn, and from what.
        """
        from trialwise.exchange.effects_json import effects_document
        from trialwise.report.figures.effects import effects_figures

        given = self.source.effects(_names(metric), samples=method == "paper")
        bases = dict(base or {})
        orders = {**{name: (one,) for name, one in bases.items()}, **given.orders}
        if method == "paper":
            from trialwise.analysis.effects.paper import PaperOptions, paper_effects
            from trialwise.analysis.effects.trials import factor_trials
            from trialwise.report.documents.effects_paper import document as paper_document

            options = PaperOptions(_names(by), False, permutations, seed, confidence)
            paper = paper_effects(factor_trials(given.trials, given.orders), given.series, options)
            found: EffectsAnalysis | PaperEffects = paper
            said = paper_document(paper)
        else:
            from trialwise.analysis.effects.analysing import EffectsOptions, analyse_effects
            from trialwise.analysis.effects.trials import factor_trials
            from trialwise.report.documents.effects import document

            common, own = _margins(margin)
            chosen = EffectsOptions(
                method=method,
                confidence=confidence,
                margin=common,
                margins=own,
                by=_names(by),
                base={**given.base, **bases},
                level=level,
                permutations=permutations,
                seed=seed,
            )
            analysed = analyse_effects(factor_trials(given.trials, orders), chosen)
            found, said = analysed, document(analysed)
        return Result(
            found, said, lambda: effects_document(found), lambda sheets: effects_figures(found, sheets)
        )

    def aa(
        self, metric: Names = (), *, confidence: float = 95, splits: int = 1000, seed: int = 1
    ) -> Result[Calibration]:
        """Say what the trials say about the bench: its noise floor and its false alarms, as `trialwise aa` does of a directory.

        Parameters
        ----------
        metric
            The metrics; default all.
        confidence
            Of verdicts and intervals, in percent.
        splits, seed
            How many random re-splits of each treatment are drawn, and from what.
        """
        from trialwise.analysis.calibration.calibrating import CalibrateOptions
        from trialwise.exchange.calibration_json import calibration_document
        from trialwise.report.documents.aa import document

        found = self.source.calibration(_names(metric), CalibrateOptions(confidence, splits, seed))
        return Result(found, document(found), lambda: calibration_document(found))

    def report(self, *, method: Method = "default") -> Page:
        """Return the whole report as a page, as `trialwise report` writes it."""
        from trialwise.exchange.comparison_json import comparison_csv
        from trialwise.report.html import html_report

        analysis = self.source.analysis((), Claims(), method)
        order, verdicts = self.source.views(analysis)
        compared = verdicts and verdicts.comparison
        pairs = comparison_csv(compared) if compared and compared.rows else ""
        return Page(html_report(analysis, order=order, verdicts=verdicts, pairs=pairs))

    @property
    def plot(self) -> Plotter:
        """The figures of the report."""
        return Plotter(self)

    def __repr__(self) -> str:
        return f"<data: {self.name}: {counted(len(self.treatments), 'treatment')}, {counted(len(self.metrics), 'metric')}>"


class Plotter:
    """Figures of data, by what they show."""

    def __init__(self, data: Data) -> None:
        self._data = data

    def trials(self, metric: str) -> Plot:
        """Each trial in the order in which it ran."""
        return self._of_metric(metric, "order")

    def distribution(self, metric: str) -> Plot:
        """The empirical distribution with its confidence band."""
        return self._of_metric(metric, "distribution")

    def autocorrelation(self, metric: str) -> Plot:
        """How alike trials are that ran so many trials apart."""
        return self._of_metric(metric, "autocorrelation")

    def plane(self, across: str, up: str) -> Plot:
        """The KPIs of two metrics of each treatment and series, with all trials."""
        from trialwise.report.figures.figure_context import file_name

        name = f"plane-{file_name(across)}-{file_name(up)}"
        return self._together([(across, up)])[name]

    def scores(self) -> Plot:
        """The variability scores of all treatments in two or more metrics."""
        return self._together([])["scores"]

    def _together(self, pairs: list[tuple[str, str]]) -> Plots:
        from trialwise.report.figures.together import together_figures

        sheets: dict[str, ColumnData] = {}
        return Plots(list(together_figures(self._data.kpi().record, sheets, pairs)), sheets)

    def _of_metric(self, metric: str, what: str) -> Plot:
        from trialwise.report.figures.figure_context import file_name

        return self._data.kpi(metric).plots[f"{file_name(metric)}-{what}"]


def _names(given: Names) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _levels(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else [str(each) for each in given]


def _margins(
    given: Margin | Mapping[str, Margin] | None,
) -> tuple[Extent | None, dict[str, Extent]]:
    """Return the margin of all metrics, and those of single ones."""
    if given is None:
        return None, {}
    if isinstance(given, Mapping):
        return None, {name: _extent(one) for name, one in given.items()}
    return _extent(given), {}


def _extent(given: Margin) -> Extent:
    from trialwise.experiment.ab_experiment import margin_of

    try:
        return margin_of(str(given))
    except ValueError as error:
        raise AnalysisError(f"margin {given!r}: {error}", hint='write "3%", or 0.5') from error
