"""What `trialwise compare` says in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trialwise.analysis.comparison.ranking import MetricRanking, ParetoFront, Ranking
from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.report import comparison_words as words
from trialwise.report.numbers import counted, percent
from trialwise.report.terminal_table import Grid, Line, aligned
from trialwise.report.units import Scale, scale


def comparison_lines(found: Comparison, width: int | None = None) -> Iterator[Line]:
    """The verdicts, a table for each metric, what would decide what is open, and what is missing.

    `width` is that of the terminal; a table that has no room there has several lines for each row.
    """
    yield f"A  {found.a}"
    yield f"B  {found.b}"
    yield words.counts_of(found)
    title, names = words.row_names(found)
    for rows in by_metric(found):
        yield ""
        shown = words.scales_of(rows)[rows[0].metric.name]
        yield words.title_of(rows[0], shown)
        table = _table(title, names, rows, shown)
        if width is None or max(map(len, table)) <= width:
            yield table
        else:
            yield from _stacked(names, rows, shown)
    yield from _part("Open", [f"{name}: {why}" for name, why in words.open_rows(found)])
    yield from _part("What differs between the environments, A | B", list(words.environment_lines(found)))
    yield from _part("Not compared", list(words.lacking(found)))
    yield from _part("Remarks", list(words.remarks(found)))
    yield ""
    yield words.method_of(found)


def by_metric(found: Comparison) -> list[list[ComparisonRow]]:
    """The rows of each metric, those with inference first: they say by which margin it is judged."""
    groups: dict[str, list[ComparisonRow]] = {}
    for row in found.rows:
        groups.setdefault(row.metric.name, []).append(row)
    return [sorted(rows, key=lambda row: row.difference is None) for rows in groups.values()]


def _part(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield title
        yield from (f"  {line}" for line in lines)


def _table(title: str, names: Mapping[str, str], rows: Sequence[ComparisonRow], shown: Scale) -> Grid:
    floors = any(row.floor for row in rows)
    head = (title, "n", "A", "B", "B − A", "Hodges–Lehmann", "B / A", words.P_FOR, "verdict", "more")
    head += ("noise floor",) if floors else ()
    cells = [
        (
            names[row.treatment],
            words.n_of(row),
            *map(shown.write, row.summary.means),
            words.difference_of(row, shown),
            words.shift_of(row, shown),
            words.ratio_of(row),
            words.claim_p_of(row),
            words.verdict_of(row),
            words.short_bill(row),
            *((words.floor_of(row, shown),) if floors else ()),
        )
        for row in rows
    ]
    return aligned([head, *cells], {2, 3, 7})


def _stacked(names: Mapping[str, str], rows: Sequence[ComparisonRow], shown: Scale) -> Iterator[str]:
    for row in rows:
        unit = f" {shown.unit}" if shown.unit else ""
        a, b = map(shown.write, row.summary.means)
        yield f"  {names[row.treatment]}: {words.verdict_of(row)}"
        yield f"    {words.n_of(row)}; means {a} → {b}{unit}"
        if row.difference is None and row.is_described:
            yield f"    B − A {words.difference_of(row, shown)}; B / A {words.ratio_of(row)}"
        if row.difference is not None:
            yield f"    B − A {words.difference_of(row, shown)}"
            yield f"    Hodges–Lehmann {words.shift_of(row, shown)}"
            yield f"    B / A {words.ratio_of(row)}; p for {words.claim_p_of(row)}"
        if row.floor is not None:
            yield f"    noise floor {words.floor_of(row, shown)}"
        if bill := words.bill_of(row):
            yield f"    {bill}"


# Pantheon's table

_PAPER = {
    "pantheon_throughput": "throughput (Mbit/s)",
    "pantheon_delay": "95th percentile delay (ms)",
    "pantheon_loss": "% loss rate",
}
PAPER_HEAD = (
    "scheme", "exp 1 runs", "exp 2 runs", "aggregate metric", "mean 1", "mean 2", "% difference", "std dev 1", "std dev 2",
    "% difference",
)  # fmt: skip


def paper_lines(found: Comparison) -> Iterator[Line]:
    """The table of Pantheon's `compare_two_experiments.py`, as its replication walkthrough shows it: no inference in it."""
    yield f"Comparison of: {found.a} and {found.b}"
    rows = paper_rows(found)
    yield aligned([PAPER_HEAD, *rows], range(10), indent=0)
    yield ""
    yield "Standard deviations have n in the denominator: that of a single run is 0, and its change of −100 % says nothing."


def paper_rows(found: Comparison) -> list[tuple[str, ...]]:
    """The cells of that table."""
    _, names = words.row_names(found)
    return [
        (
            names[row.treatment],
            *map(str, row.summary.n),
            paper_metric(row),
            *(f"{mean:.2f}" for mean in row.summary.means),
            _signed(row.summary.percent_difference),
            *(f"{deviation:.2f}" for deviation in row.summary.standard_deviations),
            _signed(row.summary.percent_difference_deviation),
        )
        for row in found.rows
    ]


def paper_metric(row: ComparisonRow) -> str:
    """What the walkthrough calls a metric."""
    unit = f" ({row.metric.unit})" if row.metric.unit else ""
    return _PAPER.get(row.metric.name, f"{row.metric.name}{unit}")


def _signed(value: float) -> str:
    return f"{value:+.2f}%" if value == value else "–"  # noqa: PLR0124 NaN


# Ranks


def ranking_lines(found: Ranking) -> Iterator[Line]:
    """Ranks by each metric, the set that may contain the best, and the Pareto set."""
    for one in found.metrics:
        yield ""
        yield from _metric_ranks(found.side, one)
    if found.pareto is not None:
        yield ""
        yield from _front(found.side, found.pareto)
    if found.notes:
        yield ""
        yield from (f"{found.side}: {note}" for note in found.notes)


def _metric_ranks(side: str, one: MetricRanking) -> Iterator[Line]:
    shown = scale((place.mean for place in one.treatments), one.unit)
    metric = words.named_metric(one.metric, one.what, shown)
    yield f"Ranks in {side}: {metric}, {one.better} is better"
    title, names = words.labels([place.treatment for place in one.treatments])
    cells = [
        (
            f"{place.best}" if place.best == place.worst else f"{place.best} to {place.worst}",
            names[place.treatment],
            shown.write(place.mean),
            str(place.n),
            "may be the best" if place.may_be_best else "",
        )
        for place in one.treatments
    ]
    yield aligned(
        [("rank", title, "estimate" if one.what else "mean", f"n ({one.level})", ""), *cells], {2, 3}
    )
    yield f"  all ranks together {percent(one.confidence)}: {one.method}"
    yield from (f"  {note}" for note in one.notes)


def _front(side: str, front: ParetoFront) -> Iterator[str]:
    _, names = words.labels(list(front.n))
    metrics = " and ".join(front.metrics)
    sizes = sorted(set(front.n.values()))
    n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    members = counted(len(front.members), "treatment")
    yield f"Pareto set in {side}, by {metrics}: {members} of {len(front.n)} ({n} each)"
    yield f"  {', '.join(names[name] for name in front.members)}"
    for name, by in front.excluded.items():
        yield f"  not {names[name]}: {', '.join(names[each] for each in by[:3])} better in all of them"
    yield f"  each of the front is in it at {percent(front.confidence)}: {front.method}"
    yield from (f"  {note}" for note in front.notes)
