"""The options of `compare` on its two sides: margins, selections, metrics, and file types."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.cli.by_metric import by_metric, directions
from trialwise.errors import TrialwiseError
from trialwise.experiment.model import Extent

if TYPE_CHECKING:
    from trialwise.analysis.progress import Progress
    from trialwise.analysis.trial_set import TrialSet
    from trialwise.exchange.trials_table import TrialColumns
    from trialwise.study.reading import ComparedControls


def margins(texts: Sequence[str]) -> tuple[Extent | None, dict[str, Extent]]:
    """Parse margins: one for all metrics, and those of single metrics.

    Raises
    ------
    TrialwiseError
        A margin is invalid, or two are for all metrics.
    """
    common: list[Extent] = []
    own: dict[str, Extent] = {}
    for text in texts:
        metric, equals, size = text.rpartition("=")
        extent = _extent(size, text)
        if equals:
            own[metric] = extent
        else:
            common.append(extent)
    if len(common) > 1:
        raise TrialwiseError("--margin: two are for all metrics", hint="write METRIC=SIZE for all but one")
    return (common[0] if common else None), own


def _extent(size: str, text: str) -> Extent:
    number = size.strip()
    relative = number.endswith("%")
    try:
        value = float(number.removesuffix("%"))
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise TrialwiseError(
            f"--margin {text}: expected a percentage, or a number above 0 in the unit of the metric",
            hint="write --margin 3%, or --margin delay=0.5",
        )
    return Extent(value, relative)


def selection(texts: Sequence[str], option: str) -> dict[str, list[str]]:
    """Parse FACTOR=LEVEL; several levels of one factor are all selected.

    Raises
    ------
    TrialwiseError
        A text does not have this form.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        factor, equals, level = text.partition("=")
        if not equals or not factor:
            raise TrialwiseError(f"{option} {text}: expected FACTOR=LEVEL", hint=f"write {option} scheme=bbr")
        found.setdefault(factor, []).append(level)
    return found


def read_side(
    path: Path,
    metrics: Sequence[str],
    columns: TrialColumns,
    *,
    paired: bool = True,
    told: Progress | None = None,
    controls: ComparedControls | None = None,
) -> TrialSet:
    """Read the trials of one path, named as given.

    With `paired`, simulated trials that met the same flows share a name. `told` is called with the progress of reading. `controls` are
    those of `study.reading.comparison_set`.

    Raises
    ------
    AnalysisError
        The trials cannot be read, or have none of the metrics.
    """
    from trialwise.analysis.comparison.sides import with_metrics
    from trialwise.study.sources import compared_trials

    return with_metrics(compared_trials(path, columns, paired=paired, told=told, controls=controls), metrics)


def told(sides: Sequence[TrialSet], better: Sequence[str], unit: Sequence[str]) -> list[TrialSet]:
    """Apply options on metrics to the sides: `[METRIC=]higher` and `[METRIC=]UNIT`.

    Raises
    ------
    TrialwiseError
        A direction is invalid, or no side has a named metric.
    """
    there = tuple(dict.fromkeys(name for side in sides for name in side.metrics))
    ways = {name: directions(one) for name, one in by_metric(better, there, "--better").items()}
    units = by_metric(unit, there, "--unit")
    return [
        dataclasses.replace(
            side,
            metrics={
                name: dataclasses.replace(
                    facts,
                    better=ways[name] or facts.better,
                    unit=units[name][-1] if units[name] else facts.unit,
                )
                for name, facts in side.metrics.items()
            },
        )
        for side in sides
    ]


def check_named(named: Mapping[str, object], sides: Sequence[TrialSet], option: str) -> None:
    """Refuse an option for a metric that no side has.

    Raises
    ------
    TrialwiseError
        The metric does not exist.
    """
    there = dict.fromkeys(name for side in sides for name in side.metrics)
    for name in named:
        if name not in there:
            raise TrialwiseError(
                f"{option} {name}=…: there is no such metric", hint=f"there are: {', '.join(there)}"
            )
