"""Tables of verdicts between treatments, and of their ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trialwise.analysis.comparison.ranking import Ranking
from trialwise.analysis.comparison.results import ComparisonRow
from trialwise.report import comparison_words as words
from trialwise.report.numbers import ABSENT, write
from trialwise.report.tables import Table

_VERDICT_COLUMNS = (
    "metric", "B against A", "verdict", "n", "A", "B", "B − A", "B − A, %", "δ", "p", "more",
)  # fmt: skip


def verdict_table(rows: Sequence[ComparisonRow], names: Mapping[str, str]) -> Table:
    """A row for each pair and metric; `names` are what pairs are called."""
    return Table(
        key="verdicts",
        caption="Differences between treatments, B − A, with intervals; p and verdicts hold for all together",
        columns=_VERDICT_COLUMNS,
        rows=tuple(_cells(row, names[row.treatment]) for row in rows),
        numeric=frozenset(range(4, 11)),
    )


def _cells(row: ComparisonRow, name: str) -> tuple[str, ...]:
    unit = f" [{row.metric.unit}]" if row.metric.unit else ""
    margin = words.margin_of(row).removeprefix("δ = ") if row.difference else ABSENT
    return (
        row.metric.name + unit,
        name,
        words.verdict_of(row),
        words.n_of(row),
        *map(write, row.summary.means),
        words.difference_of(row),
        words.change_of(row),
        margin,
        words.p_of(row.p_adjusted),
        words.short_bill(row),
    )


def rank_table(ranking: Ranking, labels: Mapping[str, str]) -> Table:
    """The ranks of treatments by each metric; `labels` are what treatments are called."""
    return Table(
        key="ranks",
        caption="Ranks that hold together, from the best mean to the worst",
        columns=("metric", "treatment", "best rank", "worst rank", "mean", "n", "level", ""),
        rows=tuple(
            (
                f"{one.metric} [{one.unit}]" if one.unit else one.metric,
                labels.get(place.treatment, place.treatment),
                str(place.best),
                str(place.worst),
                write(place.mean),
                str(place.n),
                one.level,
                "may be the best" if place.may_be_best else "",
            )
            for one in ranking.metrics
            for place in one.treatments
        ),
        numeric=frozenset({2, 3, 4, 5}),
    )
