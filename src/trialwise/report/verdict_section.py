"""What the report says and shows of treatments held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialwise.analysis.comparison.between import VerdictView
from trialwise.analysis.comparison.ranking import MetricRanking, ParetoFront, Ranking
from trialwise.analysis.comparison.results import Comparison, ComparisonRow, Direction
from trialwise.report import comparison_words as words
from trialwise.report.comparison_words import by_metric
from trialwise.report.figures.comparison import Differences, Ranks, differences, ranks
from trialwise.report.figures.sheets import Sheet
from trialwise.report.figures.verdicts import differences_figure, ranks_figure
from trialwise.report.numbers import counted, percent
from trialwise.report.section import (
    Attached,
    FigureGroup,
    Line,
    Look,
    Part,
    Section,
    Standing,
    Tone,
    marks_counted,
    part,
)
from trialwise.report.tables import Table
from trialwise.report.units import Scale
from trialwise.report.verdict_tables import rank_table, verdict_table

MOST_PAIRS = 60
"""Of a metric with more pairs, those with one treatment are shown, and of these at most so many."""
MOST_FIGURES = 6
_MOST_NAMES = 12
_STANDINGS: Mapping[str, Standing] = {
    "different": "claim",
    "equivalent": "claim",
    "undecided": "refusal",
    "no inference": "refusal",
}
_SIGNS: Mapping[Direction, str] = {"better": "▲", "worse": "▼"}
_STOPPED = (
    "The experiment was ended by a rule that looked at its values. The intervals and verdicts of this part are made for numbers of "
    "trials set beforehand, and after such a rule they hold less often than they say; those under “When to stop” hold."
)


@dataclass(frozen=True, slots=True)
class Shown:
    """The pairs of one metric that are shown: all, or those with the treatment `against`, of `total`."""

    rows: tuple[ComparisonRow, ...]
    total: int
    against: str = ""


def verdict_section(
    view: VerdictView, sheets: dict[str, Sheet], labels: Mapping[str, str], pairs: str = ""
) -> Section | None:
    """The section of a view, None where there is one treatment.

    `labels` are what treatments are called, `sheets` take the data of the figures, `pairs` is a table (CSV) of all pairs.
    """
    found = view.comparison
    if found is None:
        return Section(view.refusal) if view.refusal else None
    names, shown = pair_names(view, labels), shown_pairs(view)
    if not found.rows:
        return Section("Treatments cannot be compared: no two of them have a value of the same metric.")
    return Section(
        verdict=words.counts_of(found),
        look=_look(found),
        facts=words.method_of(found),
        notes=tuple(_notes(view, shown)),
        warnings=(_STOPPED,) if view.stopping else (),
        parts=(*_pairs(shown, names), *_ranking(view.ranking, labels)),
        groups=tuple(_groups(view, labels, sheets)),
        tables=tuple(section_tables(view, labels)),
        attached=Attached(
            "verdicts.csv", f"all {counted(len(found.rows), 'comparison')} with all digits", pairs
        )
        if pairs
        else None,
    )


def _look(found: Comparison) -> Look:
    """Green for what is decided, unless something of it is worse."""
    if any(row.direction == "worse" for row in found.rows):
        return "matters"
    open_ = found.counts["undecided"] + found.counts["no inference"]
    return "" if open_ else "fine"


def pair_names(view: VerdictView, labels: Mapping[str, str]) -> dict[str, str]:
    """What each pair is called."""
    return {
        row: f"{labels.get(b, b)} against {labels.get(a, a)}" for row, (a, b) in view.pairs.items()
    }  # fmt: skip


# Which pairs


def shown_pairs(view: VerdictView) -> list[Shown]:
    """The pairs of each metric that matter: all, unless there are too many to read.

    Then those with the treatment of the best mean (of the first, where nobody knows what is better), the closest first.
    """
    found = view.comparison
    return [_shown(view, rows) for rows in by_metric(found)] if found else []


def _shown(view: VerdictView, rows: Sequence[ComparisonRow]) -> Shown:
    if len(rows) <= MOST_PAIRS:
        return Shown(tuple(rows), len(rows))
    against = _reference(view, rows)
    own = [row for row in rows if against in view.pairs[row.treatment]]
    own.sort(key=lambda row: (row.difference is None, abs(row.summary.percent_difference)))
    return Shown(tuple(own[:MOST_PAIRS]), len(rows), against)


def _reference(view: VerdictView, rows: Sequence[ComparisonRow]) -> str:
    means = {
        name: mean
        for row in rows
        for name, mean in zip(view.pairs[row.treatment], row.summary.means, strict=True)
    }
    better = rows[0].metric.better
    if better is None:
        return next(iter(means))
    return (max if better == "higher" else min)(means, key=means.__getitem__)


def _notes(view: VerdictView, shown: Sequence[Shown]) -> Iterator[str]:
    for one in shown:
        if len(one.rows) < one.total:
            metric = one.rows[0].metric
            which = "which has the best mean" if metric.better else "the first of the file"
            yield (
                f"{metric.name}: {len(one.rows)} of {one.total} pairs are shown, those with {one.against}, {which}, the closest "
                "first; all were judged together, and stand in verdicts.csv below"
            )
    if view.comparison is None:
        return
    bare = {
        row.metric.name for row in view.comparison.rows if row.difference and row.difference.margin is None
    }
    if bare:
        told = ", ".join(sorted(bare))
        yield f'nothing can be equivalent without a margin; the file gives none of {told} (margin = "3%")'
    yield from (note for notes in view.comparison.notes.values() for note in notes)


# Sentences


def _pairs(shown: Sequence[Shown], names: Mapping[str, str]) -> Iterator[Part]:
    for one in shown:
        unit = words.scales_of(one.rows)[one.rows[0].metric.name]
        lines = [_line(row, names[row.treatment], unit) for row in one.rows]
        yield from part(
            words.title_of(one.rows[0], unit), lines, marks_counted(lines), more="; the table has them"
        )


def _line(row: ComparisonRow, name: str, shown: Scale) -> Line:
    pieces = [f"n = {words.n_of(row)}"]
    if row.difference is not None or row.is_described:
        effect = f"{words.difference_of(row, shown)} {shown.unit}".rstrip()
        pieces = [effect, words.change_of(row), *pieces]
    why = words.open_words(row)
    text = f"{name}: {', '.join(pieces)}" + (f"; {why.removeprefix('undecided: ')}" if why else "")
    return Line(text, _STANDINGS[row.verdict], _mark(row), _tone(row))


def _mark(row: ComparisonRow) -> str:
    """The verdict with its direction, which a sign tells apart where colours do not."""
    return f"{row.verdict}, {row.direction} {_SIGNS[row.direction]}" if row.direction else row.verdict


def _tone(row: ComparisonRow) -> Tone:
    return row.direction or ("different" if row.verdict == "different" else "")


def _ranking(ranking: Ranking | None, labels: Mapping[str, str]) -> Iterator[Part]:
    if ranking is None:
        return
    lines = [_best(one, labels) for one in ranking.metrics]
    if ranking.pareto:
        lines += _front(ranking.pareto, labels)
    lines += [Line(note, mark="note") for note in ranking.notes]
    yield from part("Which is best", lines)


def _best(one: MetricRanking, labels: Mapping[str, str]) -> Line:
    members = [place.treatment for place in one.treatments if place.may_be_best]
    verb = "is the best" if len(members) == 1 else "may each be the best"
    return Line(
        f"{one.metric}: {_list(members, labels)} {verb} ({counted(len(members), 'treatment')} of {len(one.treatments)}, "
        f"{percent(one.confidence)}: {one.method})",
        "claim",
        "best",
    )


def _front(front: ParetoFront, labels: Mapping[str, str]) -> Iterator[Line]:
    yield Line(
        f"by {' and '.join(front.metrics)} together: no other is shown to be better in all of them than "
        f"{_list(front.members, labels)} (each of the front is among these at {percent(front.confidence)}: {front.method})",
        "claim",
        "Pareto set",
    )
    out = [f"{labels.get(name, name)} (by {labels.get(by[0], by[0])})" for name, by in front.excluded.items()]
    if out:
        more = f" and {len(out) - _MOST_NAMES} more" if len(out) > _MOST_NAMES else ""
        yield Line(f"beaten in all of them: {', '.join(out[:_MOST_NAMES])}{more}", "claim", "not in it")
    yield from (Line(note, mark="note") for note in front.notes)


def _list(members: Sequence[str], labels: Mapping[str, str]) -> str:
    more = f" and {len(members) - _MOST_NAMES} more" if len(members) > _MOST_NAMES else ""
    return ", ".join(labels.get(name, name) for name in members[:_MOST_NAMES]) + more


# Tables and figures


def section_tables(view: VerdictView, labels: Mapping[str, str]) -> Iterator[Table]:
    """The pairs that are shown, and the ranks; `labels` are what treatments are called."""
    rows = [row for one in shown_pairs(view) for row in one.rows]
    if rows:
        yield verdict_table(rows, pair_names(view, labels))
    if view.ranking:
        yield rank_table(view.ranking, labels)


def verdict_pictures(
    view: VerdictView, labels: Mapping[str, str]
) -> Iterator[tuple[str, Differences | Ranks]]:
    """Name and picture of each figure: differences of each metric, then ranks; at most six of each."""
    names = pair_names(view, labels)
    found = (differences(one.rows, names) for one in shown_pairs(view))
    drawn = [picture for picture in found if picture is not None]
    yield from ((f"verdicts-{picture.metric}", picture) for picture in drawn[:MOST_FIGURES])
    called = {name: labels.get(name, name) for pair in view.pairs.values() for name in pair}
    for one in view.ranking.metrics[:MOST_FIGURES] if view.ranking else ():
        yield f"ranks-{one.metric}", ranks(one, called)


def _groups(view: VerdictView, labels: Mapping[str, str], sheets: dict[str, Sheet]) -> Iterator[FigureGroup]:
    pictures = [picture for _, picture in verdict_pictures(view, labels)]
    group = [
        differences_figure(picture, _caption(view, picture), sheets)
        for picture in pictures
        if isinstance(picture, Differences)
    ]
    if group:
        yield FigureGroup("Differences and their margin", tuple(group))
    ranked = [
        ranks_figure(
            picture,
            "From the best rank to the worst that a treatment may have; all ranks hold together.",
            sheets,
        )
        for picture in pictures
        if isinstance(picture, Ranks)
    ]
    if ranked:
        yield FigureGroup("Ranks", tuple(ranked))


def _caption(view: VerdictView, picture: Differences) -> str:
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
