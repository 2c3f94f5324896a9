"""Options of commands that also read tables of measurements."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.by_metric import by_metric, directions
from trialwise.cli.reading import ReadingOptions, check_is_table, refuse_told
from trialwise.errors import AnalysisError, PlanError
from trialwise.experiment.model import (
    Better,
    Bound,
    Controls,
    Convergence,
    Kpi,
    Levels,
    Measure,
    Method,
    Metric,
    Variability,
)
from trialwise.experiment.sources import TextSource

if TYPE_CHECKING:
    from trialwise.analysis.progress import Progress
    from trialwise.analysis.recorded import Recorded
    from trialwise.analysis.results import Analysis
    from trialwise.study.sources import Source
    from trialwise.trials.drawn_means import Watch

_OBJECTIVE_KEYS = ("percentile", "confidence", "bound")
_PERCENTILE = re.compile(r"^[pP]?(\d{1,2}(?:\.\d+)?)$")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """What the columns of a table are, and what is to be claimed about them."""

    value: Annotated[
        tuple[str, ...], Parameter(help="Column of a metric's values; repeatable.", negative="")
    ] = ()
    group: Annotated[
        tuple[str, ...], Parameter(help="Column that tells treatments apart; repeatable.", negative="")
    ] = ()
    series: Annotated[str | None, Parameter(help="Column that tells series apart.")] = None
    trial: Annotated[
        str | None, Parameter(help="Column that tells trials apart; then each row is a sample.")
    ] = None
    order: Annotated[
        str | None, Parameter(help="Column that says in which order the trials ran; default the rows'.")
    ] = None
    time: Annotated[
        str | None, Parameter(help="Column of times: of samples with --trial, else of trials.")
    ] = None
    objective: Annotated[
        tuple[str, ...],
        Parameter(
            help="A KPI, as percentile=95,confidence=95[,bound=upper], or METRIC=percentile=…; repeatable.",
            negative="",
        ),
    ] = ()
    measure: Annotated[
        tuple[str, ...],
        Parameter(
            help="What reduces samples: mean, median, min, max, or a percentile as p95; or METRIC=p95; default mean.",
            negative="",
        ),
    ] = ()
    convergence: Annotated[
        tuple[str, ...],
        Parameter(
            help="Test convergence: confidence,tolerance as 95,5, or METRIC=95,5.",
            negative="",
        ),
    ] = ()
    variability: Annotated[
        tuple[str, ...],
        Parameter(
            help="Variability score: percentile,confidence as 50,75, or METRIC=50,75; without an objective, of values "
            "that are KPIs of series.",
            negative="",
        ),
    ] = ()
    limits: Annotated[
        tuple[str, ...],
        Parameter(
            help="Smallest and largest value to expect, as 0,120, or METRIC=0,120; what the paper's tests scale by.",
            negative="",
        ),
    ] = ()
    unit: Annotated[
        tuple[str, ...], Parameter(help="Unit of the values, or METRIC=UNIT; repeatable.", negative="")
    ] = ()
    better: Annotated[
        tuple[str, ...],
        Parameter(
            help="Which direction is better, higher or lower, or METRIC=higher; repeatable.", negative=""
        ),
    ] = ()

    def given(self) -> bool:
        """True if any of them was given."""
        return self != TableOptions()

    def names_columns(self) -> bool:
        """True if one of them is for tables alone."""
        return bool(
            self.group
            or self.series
            or self.trial
            or self.order
            or self.time
            or self.measure
            or self.convergence
        )


def source_of(
    paths: Sequence[Path], options: TableOptions, reading: ReadingOptions, factor: str | None = None
) -> Source:
    """Return what paths stand for; with columns of values, a file that is a table too is one."""
    from trialwise.study.sources import source

    return source(paths, factor, told=bool(options.value) or options.names_columns() or reading.given())


def controls_given(text: str | None) -> Controls | None:
    """Return the controls of an option, names with commas between, as an experiment file would have them.

    Raises
    ------
    PlanError
        There are none of a name.
    """
    if text is None:
        return None
    from trialwise.experiment.engines import controls_of

    try:
        return controls_of(text)
    except ValueError as error:
        raise PlanError(f"--controls {text}: {error}") from error


def analysis_of(
    found: Source,
    options: TableOptions,
    method: Method,
    *,
    reading: ReadingOptions | None = None,
    all_trials: bool = False,
    controls: Controls | None = None,
    levels: Levels | None = None,
    lists_within: str | None = None,
    watch: Watch | None = None,
    told: Progress | None = None,
    overview: bool = False,
) -> Analysis:
    """Analyse an experiment directory, what other programs recorded, or the table that the options describe.

    Options are those of `study.analyse`.
    """
    from trialwise.analysis.recorded import Recorded
    from trialwise.study.sources import Directory

    reading = reading or ReadingOptions()
    if isinstance(found, Recorded):
        refuse_told(found.trials.name, given=reading.given() or options.names_columns())
        return _recorded_analysis(found, options, method)
    path = found.path
    if isinstance(found, Directory):
        refuse_told(path, given=options.given() or reading.given())
        from trialwise import study
        from trialwise.cli.stream_options import duration

        return study.analyse(
            path,
            method,
            all_trials=all_trials,
            controls=controls,
            levels=levels,
            lists_within=None if lists_within is None else duration("--lists-within", lists_within),
            watch=watch,
            told=told,
            overview=overview,
        )
    if not options.value:
        check_is_table(path)
        raise AnalysisError(f"{path}: a table needs to know its columns", hint="add --value COLUMN")
    from trialwise.analysis.table import TableColumns, analyse_table

    columns = TableColumns(
        options.group,
        options.series,
        options.trial,
        options.order,
        options.time,
        samples=bool(options.measure or options.convergence),
    )
    return analyse_table(path, columns, metrics_of(path, options), method, reading.dialect())


def table_results(path: Path, options: TableOptions, reading: ReadingOptions) -> Recorded | None:
    """Return the trials of the table that the options describe, as `compare` reads it; None if all rows of a treatment are one."""
    from trialwise.exchange.trials_table import TrialColumns
    from trialwise.study.sources import table_results

    if (options.measure or options.convergence) and options.trial is None:
        return None
    columns = TrialColumns((), options.group, options.trial, dialect=reading.dialect())
    return table_results(path, columns, metrics_of(path, options))


def _recorded_analysis(found: Recorded, options: TableOptions, method: Method) -> Analysis:
    """Analyse what other programs recorded; `--value` chooses among the metrics, whose directions are known."""
    from trialwise.analysis.of_trials import analyse_recorded

    known: dict[str, Better | None] = {name: facts.better for name, facts in found.trials.metrics.items()}
    asked = replace(options, value=tuple(found.check(options.value)))
    return analyse_recorded(found, metrics_of(Path(found.trials.name), asked, known), method)


def metrics_of(
    path: Path, options: TableOptions, known: Mapping[str, Better | None] | None = None
) -> list[Metric]:
    """Build the metrics that the options name, with their settings; `known` has directions that files tell."""
    names = tuple(dict.fromkeys(options.value))

    def told_of(
        option: str, texts: tuple[str, ...], own_keys: Sequence[str] = ()
    ) -> Mapping[str, tuple[str, ...]]:
        return by_metric(texts, names, f"--{option}", own_keys)

    objectives = told_of("objective", options.objective, _OBJECTIVE_KEYS)
    measures, convergences = told_of("measure", options.measure), told_of("convergence", options.convergence)
    scores, limits = told_of("variability", options.variability), told_of("limits", options.limits)
    units, ways = told_of("unit", options.unit), told_of("better", options.better)
    found: list[Metric] = []
    for name in names:
        better = directions(ways[name]) or (known or {}).get(name)
        convergence, score = _last(convergences[name]), _last(scores[name])
        found.append(
            Metric(
                name=name,
                source=TextSource(path=str(path), csv=name, time=options.time if options.trial else None),
                measure=measure_named(_last(measures[name]) or "mean"),
                unit=_last(units[name]) or "",
                better=better,
                convergence=Convergence(*_pair(convergence, "convergence")) if convergence else None,
                kpis=tuple(dict.fromkeys(objective(text, better) for text in objectives[name])),
                variability=Variability(*_pair(score, "variability")) if score else None,
                limits=_limits(_last(limits[name])),
            )
        )
    return found


def _last(texts: tuple[str, ...]) -> str | None:
    return texts[-1] if texts else None


def _limits(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low, high = 1.0, 0.0
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise AnalysisError(
            f"--limits {text}: expected the smallest and the largest value", hint="write --limits 0,120"
        )
    return low, high


def measure_named(text: str) -> Measure:
    """Parse a measure: mean, median, min, max, or a percentile such as p95."""
    if text in ("mean", "median", "min", "max"):
        return text
    found = _PERCENTILE.match(text)
    if found is None:
        raise AnalysisError(f"--measure {text}: allowed are mean, median, min, max, or a percentile as p95")
    return _percentage(found[1], f"--measure {text}")


def _pair(text: str, option: str) -> tuple[float, float]:
    parts = text.split(",")
    if len(parts) != 2:
        raise AnalysisError(f"--{option} {text}: expected two numbers, such as 50,75")
    return _percentage(parts[0], f"--{option} {text}"), _percentage(parts[1], f"--{option} {text}")


def objective(text: str, better: Better | None) -> Kpi:
    """Parse a KPI such as "percentile=95,confidence=95,bound=upper".

    The default bound is the percentile's natural side; at 50, lower if higher is better, else upper.
    """
    parts = dict(_entry(part, text) for part in text.split(","))
    where = f"--objective {text}"
    unknown = set(parts) - set(_OBJECTIVE_KEYS)
    if unknown or "percentile" not in parts:
        problem = f"{min(unknown)!r} is unknown" if unknown else "there is no percentile"
        raise AnalysisError(f"{where}: {problem}", hint="write percentile=95,confidence=95,bound=upper")
    percentile = _percentage(parts["percentile"], where)
    confidence = _percentage(parts.get("confidence", "95"), where)
    return Kpi(percentile, confidence, _bound(parts.get("bound"), percentile, better, where))


def _entry(part: str, text: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    if not equals:
        raise AnalysisError(
            f"--objective {text}: {part!r} is not of the form name=value",
            hint="write percentile=95,confidence=95",
        )
    return name.strip(), value.strip()


def _bound(text: str | None, percentile: float, better: Better | None, where: str) -> Bound:
    if text in ("lower", "upper"):
        return text
    if text is not None:
        raise AnalysisError(f"{where}: the bound is {text!r}; allowed: lower, upper")
    if percentile == 50:
        return "lower" if better == "higher" else "upper"
    return "lower" if percentile < 50 else "upper"


def _percentage(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < 100:
        raise AnalysisError(f"{where}: {text!r} is not a percentage between 0 and 100")
    return value
