"""Claims: sentences that can be pasted into a paper, with their numbers as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialwise.analysis.results import (
    Analysis,
    MetricAnalysis,
    SeriesIndependence,
    SeriesKpi,
    SeriesVariability,
)
from trialwise.experiment.model import Kpi
from trialwise.report.document import Name, Standing
from trialwise.report.numbers import Number, ordinal, percent
from trialwise.report.units import standing_alone

Piece = str | Number | Name


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence. `standing` classifies it: a claim about further trials, a description of these, a refusal.

    Sentences of one `topic` answer one objective.
    """

    standing: Standing
    pieces: tuple[Piece, ...]
    topic: str = ""
    metric: str | None = None
    treatment: str | None = None
    series: str | None = None

    @property
    def text(self) -> str:
        """The sentence as plain text."""
        return "".join(_plain(piece) for piece in self.pieces)

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The numbers in the sentence."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Number))


def _plain(piece: Piece) -> str:
    if isinstance(piece, Number):
        return standing_alone(piece).with_unit
    return f"`{piece.text}`" if isinstance(piece, Name) else piece


def in_order(
    analysis: Analysis,
    found: MetricAnalysis,
    items: Sequence[SeriesKpi] | Sequence[SeriesVariability] | Sequence[SeriesIndependence],
) -> list[int]:
    """Return the indices of items by objective, treatment and series, in the order of the experiment file."""
    treatments = {name: place for place, name in enumerate(analysis.treatments)}
    series = {name: place for place, name in enumerate(analysis.series)}
    objectives = {kpi: place for place, kpi in enumerate(found.metric.kpis)}

    def key(place: int) -> tuple[int, int, int]:
        item = items[place]
        objective = item.objective if isinstance(item, SeriesKpi) else getattr(item, "kpi", None)
        return (
            objectives.get(objective, 0) if objective else 0,
            treatments.get(item.treatment, 0),
            series.get(getattr(item, "series", ""), 0),
        )

    return sorted(range(len(items)), key=key)


def scored(found: MetricAnalysis) -> tuple[Kpi | None, ...]:
    """Return what variability scores are computed from: the KPIs, or None if the values themselves are KPIs."""
    if found.metric.variability is None:
        return ()
    return found.metric.kpis or (None,)


def objective_text(kpi: Kpi | None) -> str:
    """Write a KPI as its objective states it: "25th percentile, lower bound, 95 %"; None means that it was given."""
    if kpi is None:
        return "as given, one for each series"
    return f"{ordinal(kpi.percentile)}, {kpi.bound} bound, {percent(kpi.confidence)}"
