"""A comparison for machines: the JSON document, CSV, and the Bencher Metric Format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise import statistics as st
from trialwise.analysis.comparison.gate import Outcome, gate_of
from trialwise.analysis.comparison.ranking import Ranking
from trialwise.analysis.comparison.results import (
    Comparison,
    ComparisonRow,
    Direction,
    Floor,
    GeometricMean,
    OneSided,
    Word,
)
from trialwise.analysis.environments import EnvironmentDifference
from trialwise.analysis.trial_set import Level
from trialwise.exchange.csv_text import csv_text
from trialwise.exchange.plain import Json, plain, schema_of
from trialwise.experiment.model import Better
from trialwise.wording.gate import sentence

_MAX_MEASURE = 64
"""Maximum length of a measure's name."""


@dataclass(frozen=True, slots=True)
class RowDocument:
    """One treatment and metric: B against A; `what` names the estimand of both sides, empty if there is only one.

    `n` counts units of `level` on each side and `counts` those of every level; `paired` means that both sides ran in the same units.
    `difference` is unadjusted, and null if no inference was made; `verdict`, `p_adjusted` and the cost to decide (`more` units on
    each side, `more_seconds`) hold in the family of all rows. `floor` is the noise floor of the bench, null without one;
    `pairing` says what pairing gained, null if the sides were not paired.
    """

    treatment: str
    metric: str
    unit: str
    what: str
    better: Better | None
    verdict: Word
    direction: Direction | None
    reason: str
    level: Level
    n: tuple[int, int]
    paired: bool
    counts: Mapping[Level, tuple[int, int]]
    summary: st.SummaryDifference
    difference: st.Difference | None
    p_adjusted: float | None
    more: int | None
    more_seconds: float | None
    floor: Floor | None
    pairing: st.PairingGain | None


@dataclass(frozen=True, slots=True)
class GateDocument:
    """What the comparison means for a gate; `failing` and `open` are indices of rows, from 0."""

    outcome: Outcome
    failing: tuple[int, ...]
    open: tuple[int, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class ComparisonDocument:
    """What `trialwise compare --json` prints."""

    format: Literal["trialwise.comparison/1"]
    a: str
    b: str | None
    confidence: float
    correction: str | None
    verdicts: Mapping[Word, int]
    rows: tuple[RowDocument, ...]
    one_sided: tuple[OneSided, ...]
    notes: Mapping[str, tuple[str, ...]]
    gate: GateDocument | None
    rankings: tuple[Ranking, ...]
    environments: tuple[EnvironmentDifference, ...] = ()
    geometric_means: tuple[GeometricMean, ...] = ()


def comparison_document(found: Comparison, rankings: tuple[Ranking, ...] = ()) -> dict[str, Json]:
    """Return a comparison as JSON; its key `format` names the format and its version."""
    gate = gate_of(found)
    return _object(
        ComparisonDocument(
            format="trialwise.comparison/1",
            a=found.a,
            b=found.b,
            confidence=found.confidence,
            correction=found.correction,
            verdicts=found.counts,
            rows=tuple(map(_row, found.rows)),
            one_sided=found.one_sided,
            notes=found.notes,
            gate=GateDocument(gate.outcome, gate.failing, gate.open, sentence(found, gate)),
            rankings=rankings,
            environments=found.environments,
            geometric_means=found.geometric_means,
        )
    )


def ranking_document(found: Ranking, confidence: float, notes: tuple[str, ...]) -> dict[str, Json]:
    """Return the ranks of one experiment by itself, in the same format."""
    return _object(
        ComparisonDocument(
            format="trialwise.comparison/1",
            a=found.side,
            b=None,
            confidence=confidence,
            correction=None,
            verdicts={},
            rows=(),
            one_sided=(),
            notes={found.side: notes},
            gate=None,
            rankings=(found,),
        )
    )


def _object(document: ComparisonDocument) -> dict[str, Json]:
    content = plain(document)
    if not isinstance(content, dict):
        raise TypeError("a record is an object")
    return content


def comparison_schema() -> dict[str, Json]:
    """Return the JSON Schema of a comparison, from its dataclasses."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trialwise.comparison/1",
        **schema_of(ComparisonDocument),
    }


def _row(row: ComparisonRow) -> RowDocument:
    return RowDocument(
        treatment=row.treatment,
        metric=row.metric.name,
        unit=row.metric.unit,
        what=row.metric.what,
        better=row.metric.better,
        verdict=row.verdict,
        direction=row.direction,
        reason=row.reason,
        level=row.units.level,
        n=row.units.n,
        paired=row.units.paired,
        counts=row.units.counts,
        summary=row.summary,
        difference=row.difference,
        p_adjusted=row.p_adjusted,
        more=row.more,
        more_seconds=row.more_seconds,
        floor=row.floor,
        pairing=row.pairing,
    )


# CSV


def comparison_csv(found: Comparison) -> str:
    """Return a row for each treatment and metric, with the numbers of the JSON document."""
    records = [_record(row) for row in found.rows]
    return csv_text(list(records[0]), (list(record.values()) for record in records))


def _record(row: ComparisonRow) -> dict[str, Json]:
    one, summary = row.difference, row.summary
    shift = one and one.hodges_lehmann
    record: dict[str, object] = {
        "treatment": row.treatment,
        "metric": row.metric.name,
        "unit": row.metric.unit,
        "what": row.metric.what,
        "verdict": row.verdict,
        "direction": row.direction,
        "level": row.units.level,
        "n_a": row.units.n[0],
        "n_b": row.units.n[1],
        "trials_a": summary.n[0],
        "trials_b": summary.n[1],
        "mean_a": summary.means[0],
        "mean_b": summary.means[1],
        "difference": one and one.welch.estimate,
        "difference_low": one and one.welch.low,
        "difference_high": one and one.welch.high,
        "shift": shift and shift.estimate,
        "shift_low": shift and shift.low,
        "shift_high": shift and shift.high,
        "ratio": one and one.ratio.estimate,
        "ratio_low": one and one.ratio.low,
        "ratio_high": one and one.ratio.high,
        "p_adjusted": row.p_adjusted,
        "margin": one and one.margin,
        "margin_percent": one and one.margin_percent,
        "more": row.more,
        "more_seconds": row.more_seconds,
        "floor": row.floor and row.floor.value,
        "reason": row.reason,
    }
    return {name: "" if value is None else plain(value) for name, value in record.items()}


# Bencher


def bencher_document(found: Comparison) -> dict[str, Json]:
    """Return side B in the Bencher Metric Format: the mean of each metric of each treatment with its interval.

    https://bencher.dev/docs/reference/bencher-metric-format
    """
    document: dict[str, dict[str, Json]] = {}
    for row in found.rows:
        name = found.b if row.treatment == "-" else row.treatment
        document.setdefault(name, {})[row.metric.name[:_MAX_MEASURE]] = _measure(row, found.confidence)
    return dict(document)


def _measure(row: ComparisonRow, confidence: float) -> Json:
    if len(row.units.b) < 2:
        return {"value": row.summary.means[1]}
    mean = st.mean_interval(row.units.b, confidence=confidence)
    return {"value": mean.estimate, "lower_value": mean.low, "upper_value": mean.high}
