"""What a report says and shows of treatments held against each other: as `trialwise compare`, of the pairs that matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.report import comparison_words as words
from trialwise.report.comparison_words import by_metric
from trialwise.report.document import Attached, Block, Details, Document, Figures, Note, Table, Verdict
from trialwise.report.documents import compare
from trialwise.report.figures.comparison import Differences, differences, ranks
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.verdicts import differences_figure, ranks_figure
from trialwise.report.many import MANY_METRICS
from trialwise.report.numbers import counted, percent

MAX_PAIRS = 60
"""Of a metric with more pairs, those with one treatment are shown, and of these at most so many."""
MAX_FIGURES = 6
_STOPPED = (
    "The experiment was ended by a rule that looked at its values. The intervals and verdicts of this part are made for numbers of "
    "trials set beforehand, and after such a rule they hold less often than they say; those under “When to stop” hold."
)
_RANKS = "From the best rank to the worst that a treatment may have; all ranks hold together."


@dataclass(frozen=True, slots=True)
class Shown:
    """The pairs of one metric that are shown: all, or those with the treatment `against`, of `total`."""

    rows: tuple[ComparisonRow, ...]
    total: int
    against: str = ""


def document(
    view: VerdictSummary, sheets: dict[str, ColumnData], labels: Mapping[str, str], pairs: str = ""
) -> Document | None:
    """Return the document of a view, None where there is one treatment.

    `labels` are what treatments are called, `sheets` take the data of the figures, `pairs` is a table (CSV) of all pairs.
    """
    found = view.comparison
    if found is None:
        return Document("verdicts", Verdict("open", (view.refusal,))) if view.refusal else None
    if not found.rows:
        refusal = "Treatments cannot be compared: no two of them have a value of the same metric."
        return Document("verdicts", Verdict("open", (refusal,)))
    return Document(
        "verdicts",
        Verdict(compare.outcome_of(found), (f"{words.counts_of(found)}.",)),
        (
            *([Note((_STOPPED,), "warning")] if view.stopping else ()),
            *(Note((f"{note}.",)) for note in _notes(view, found)),
            *verdict_figures(view, labels, sheets),
            *_tables(view, found, labels),
            *_attached(found, pairs),
        ),
        (Note((words.method_of(found),)),),
    )


def _tables(view: VerdictSummary, found: Comparison, labels: Mapping[str, str]) -> Iterator[Block]:
    names = pair_names(view, labels)
    groups = [compare.placed(found, one.rows) for one in shown_pairs(view)]
    if len(groups) > MANY_METRICS:
        groups.sort(key=lambda rows: min(compare.by_size(row) for _, row in rows))
    yield from compare.tables_of(groups, names, "B against A", compare.summary)
    yield Details(
        "Intervals, and what would decide",
        tuple(compare.tables_of(groups, names, "B against A", compare.intervals)),
    )
    if view.ranking is not None:
        yield from compare.ranks_of(view.ranking)


def _attached(found: Comparison, pairs: str) -> Iterator[Block]:
    if pairs:
        yield Attached("verdicts.csv", f"all {counted(len(found.rows), 'comparison')} with all digits", pairs)


def tables_for_print(view: VerdictSummary, labels: Mapping[str, str]) -> Iterator[Table]:
    """Yield the pairs that are shown, and the ranks; `labels` are what treatments are called."""
    if view.comparison is not None and (rows := [row for one in shown_pairs(view) for row in one.rows]):
        shown = replace(view.comparison, rows=tuple(rows))
        yield replace(compare.table_for_print(shown, pair_names(view, labels)), key="verdicts")
    if view.ranking is not None:
        yield from (block for block in compare.ranks_of(view.ranking) if isinstance(block, Table))


def pair_names(view: VerdictSummary, labels: Mapping[str, str]) -> dict[str, str]:
    """Return what each pair is called."""
    return {
        row: f"{labels.get(b, b)} against {labels.get(a, a)}" for row, (a, b) in view.pairs.items()
    }  # fmt: skip


# Which pairs


def shown_pairs(view: VerdictSummary) -> list[Shown]:
    """Return the pairs of each metric that matter: all, unless there are too many to read.

    Then those with the treatment of the best mean (of the first, where nobody knows what is better), the closest first.
    """
    found = view.comparison
    return [_shown(view, rows) for rows in by_metric(found)] if found else []


def _shown(view: VerdictSummary, rows: Sequence[ComparisonRow]) -> Shown:
    if len(rows) <= MAX_PAIRS:
        return Shown(tuple(rows), len(rows))
    against = _reference(view, rows)
    own = [row for row in rows if against in view.pairs[row.treatment]]
    own.sort(key=lambda row: (row.difference is None, abs(row.summary.percent_difference)))
    return Shown(tuple(own[:MAX_PAIRS]), len(rows), against)


def _reference(view: VerdictSummary, rows: Sequence[ComparisonRow]) -> str:
    means = {
        name: mean
        for row in rows
        for name, mean in zip(view.pairs[row.treatment], row.summary.means, strict=True)
    }
    better = rows[0].metric.better
    if better is None:
        return next(iter(means))
    return (max if better == "higher" else min)(means, key=means.__getitem__)


def _notes(view: VerdictSummary, found: Comparison) -> Iterator[str]:
    for one in shown_pairs(view):
        if len(one.rows) < one.total:
            metric = one.rows[0].metric
            which = "which has the best mean" if metric.better else "the first of the file"
            yield (
                f"{metric.name}: {len(one.rows)} of {one.total} pairs are shown, those with {one.against}, {which}, the closest "
                "first; all were judged together, and stand in verdicts.csv below"
            )
    bare = {row.metric.name for row in found.rows if row.difference and row.difference.margin is None}
    if bare:
        told = ", ".join(sorted(bare))
        yield (
            f'nothing can be equivalent without a margin, and none is given of {told} (margin = "3%" in an experiment file, or '
            "`trialwise compare --margin 3%`)"
        )
    yield from (note for notes in found.notes.values() for note in notes)


# Figures


def verdict_figures(
    view: VerdictSummary, labels: Mapping[str, str], sheets: dict[str, ColumnData]
) -> Iterator[Figures]:
    """Yield differences of each metric, then ranks; at most six of each."""
    names = pair_names(view, labels)
    found = (differences(one.rows, names) for one in shown_pairs(view))
    pictures = [picture for picture in found if picture is not None][:MAX_FIGURES]
    compared = (differences_figure(picture, _caption(view, picture), sheets) for picture in pictures)
    called = {name: labels.get(name, name) for pair in view.pairs.values() for name in pair}
    metrics = view.ranking.metrics[:MAX_FIGURES] if view.ranking else ()
    ranked = (ranks_figure(ranks(one, called), _RANKS, sheets) for one in metrics)
    for title, drawn in (("Differences and their margin", tuple(compared)), ("Ranks", tuple(ranked))):
        if drawn:
            yield Figures(title, drawn)


def _caption(view: VerdictSummary, picture: Differences) -> str:
    margin = (
        " Grey: the margin ±δ, within which nothing would be a difference."
        if any(row["margin"] for row in picture.rows)
        else ""
    )
    level = f" at {percent(view.comparison.confidence)}" if view.comparison else ""
    return (
        f"“x against y”: x is B, y is A. Intervals{level} each by itself; verdicts hold for all pairs together.{margin} Open marks "
        "are undecided."
    )
