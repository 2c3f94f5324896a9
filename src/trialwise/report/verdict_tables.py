"""Tables of verdicts between treatments, and of their ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trialwise.analysis.comparison.ranking import Ranking
from trialwise.analysis.comparison.results import ComparisonRow
from trialwise.report import comparison_words as words
from trialwise.report.document import Table, table_of
from trialwise.report.numbers import ABSENT
from trialwise.report.units import Scale, scale

_VERDICT_COLUMNS = (
    "metric", "B against A", "verdict", "n", "A", "B", "B − A", "B − A, %", "δ", words.P_FOR, "more",
)  # fmt: skip


def verdict_table(rows: Sequence[ComparisonRow], names: Mapping[str, str]) -> Table:
    """A row for each pair and metric; `names` are what pairs are called."""
    scales = words.scales_of(rows)
    return table_of(
        key="verdicts",
        caption="Differences between treatments, B − A, with intervals; p and verdicts hold for all together",
        titles=_VERDICT_COLUMNS,
        rows=tuple(_cells(row, names[row.treatment], scales[row.metric.name]) for row in rows),
        numeric=range(4, 11),
    )


def _cells(row: ComparisonRow, name: str, shown: Scale) -> tuple[str, ...]:
    margin = words.margin_of(row, shown).removeprefix("δ = ") if row.difference else ABSENT
    return (
        words.metric_of(row, shown),
        name,
        words.verdict_of(row),
        words.n_of(row),
        *map(shown.write, row.summary.means),
        words.difference_of(row, shown),
        words.change_of(row),
        margin,
        words.claim_p_of(row),
        words.short_bill(row),
    )


def rank_table(ranking: Ranking, labels: Mapping[str, str]) -> Table:
    """The ranks of treatments by each metric; `labels` are what treatments are called."""
    scales = [scale((place.mean for place in one.treatments), one.unit) for one in ranking.metrics]
    return table_of(
        key="ranks",
        caption="Ranks that hold together, from the best to the worst",
        titles=("metric", "treatment", "best rank", "worst rank", "estimate", "n", "level", ""),
        rows=tuple(
            (
                words.named_metric(one.metric, one.what, shown),
                labels.get(place.treatment, place.treatment),
                str(place.best),
                str(place.worst),
                shown.write(place.mean),
                str(place.n),
                one.level,
                "may be the best" if place.may_be_best else "",
            )
            for one, shown in zip(ranking.metrics, scales, strict=True)
            for place in one.treatments
        ),
        numeric={2, 3, 4, 5},
    )
