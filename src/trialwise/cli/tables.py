"""Options of commands that also read tables of measurements."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.errors import AnalysisError
from trialwise.experiment.model import (
    Better,
    Bound,
    Controls,
    Convergence,
    Kpi,
    Measure,
    Method,
    Metric,
    Variability,
)
from trialwise.experiment.sources import TextSource

if TYPE_CHECKING:
    from trialwise.analysis.results import Analysis
    from trialwise.analysis.telling import Told
    from trialwise.trials.drawn_means import Watch

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
        Parameter(help="A KPI, as percentile=95,confidence=95[,bound=upper]; repeatable.", negative=""),
    ] = ()
    measure: Annotated[
        str, Parameter(help="What reduces samples: mean, median, min, max, or a percentile as p95.")
    ] = "mean"
    convergence: Annotated[str | None, Parameter(help="Test convergence: confidence,tolerance as 95,5.")] = (
        None
    )
    variability: Annotated[
        str | None, Parameter(help="Variability score: percentile,confidence as 50,75.")
    ] = None
    unit: Annotated[str, Parameter(help="Unit of the values.")] = ""
    better: Annotated[Better | None, Parameter(help="Which direction is better: higher or lower.")] = None

    def given(self) -> bool:
        """Whether any of them was given."""
        return self != TableOptions()


def analysis_of(
    path: Path,
    options: TableOptions,
    method: Method,
    *,
    all_trials: bool = False,
    controls: Controls | None = None,
    watch: Watch | None = None,
    told: Told | None = None,
    overview: bool = False,
) -> Analysis:
    """Analyse an experiment directory, or the table that the options describe; options as of `study.analyse`."""
    if path.is_dir():
        if options.given():
            raise AnalysisError(f"{path}: is an experiment directory; --value and the like are for tables")
        from trialwise import study

        return study.analyse(
            path,
            method,
            all_trials=all_trials,
            controls=controls,
            watch=watch,
            told=told,
            overview=overview,
        )
    if not path.exists():
        raise AnalysisError(
            f"{path}: no such file or directory", hint="name an experiment directory or a table"
        )
    if not options.value:
        raise AnalysisError(f"{path}: a table needs to know its columns", hint="add --value COLUMN")
    from trialwise.analysis.table import TableColumns, analyse_table

    columns = TableColumns(options.group, options.series, options.trial, options.order, options.time)
    return analyse_table(path, columns, [_metric(path, name, options) for name in options.value], method)


def _metric(path: Path, name: str, options: TableOptions) -> Metric:
    return Metric(
        name=name,
        source=TextSource(path=str(path), csv=name, time=options.time if options.trial else None),
        measure=measure_named(options.measure),
        unit=options.unit,
        better=options.better,
        convergence=Convergence(*_pair(options.convergence, "convergence")) if options.convergence else None,
        kpis=tuple(objective(text, options.better) for text in options.objective),
        variability=Variability(*_pair(options.variability, "variability")) if options.variability else None,
    )


def measure_named(text: str) -> Measure:
    """Read a measure: mean, median, min, max, or a percentile such as p95."""
    if text in ("mean", "median", "min", "max"):
        return text
    found = _PERCENTILE.match(text)
    if found is None:
        raise AnalysisError(f"--measure {text}: allowed are mean, median, min, max, or a percentile as p95")
    return _percentage(found[1], f"--measure {text}")


def _pair(text: str, option: str) -> tuple[float, float]:
    parts = text.split(",")
    if len(parts) != 2:
        raise AnalysisError(f"--{option} {text}: two numbers are wanted, as 50,75")
    return _percentage(parts[0], f"--{option} {text}"), _percentage(parts[1], f"--{option} {text}")


def objective(text: str, better: Better | None) -> Kpi:
    """Read a KPI such as "percentile=95,confidence=95,bound=upper".

    Without a bound it is the percentile's own side; at 50, lower where higher is better, else upper.
    """
    parts = dict(_entry(part, text) for part in text.split(","))
    where = f"--objective {text}"
    unknown = set(parts) - {"percentile", "confidence", "bound"}
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
