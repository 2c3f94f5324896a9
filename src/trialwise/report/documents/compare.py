"""What `trialwise compare` says: one side against another, and the ranks of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import Literal

from trialwise.analysis.comparison.gate import gate_of
from trialwise.analysis.comparison.ranking import MetricRanking, ParetoFront, Ranking
from trialwise.analysis.comparison.results import Comparison, ComparisonRow, GeometricMean
from trialwise.report import comparison_words as words
from trialwise.report.document import (
    Block,
    Cell,
    Code,
    Column,
    Details,
    Document,
    Heading,
    Items,
    Name,
    Note,
    Outcome,
    Table,
    Text,
    Verdict,
    joined,
)
from trialwise.report.many import MANY_METRICS, MOST_ROWS
from trialwise.report.numbers import ABSENT, Number, counted, decimals, estimate_of, given, signed
from trialwise.report.units import Scale, scale
from trialwise.wording.gate import sentence

_GATES: dict[str, Outcome] = {"passed": "good", "failed": "bad", "undecided": "open"}
_ROWS: dict[str, Outcome] = {"equivalent": "good", "undecided": "open", "no inference": "open"}
_MOST = 100
_Placed = tuple[int, ComparisonRow]
Order = Literal["verdict", "change", "name", "metric"]
"""Of tables and rows: what needs a look first, the largest change first, or by name of treatment or metric."""


def document(
    found: Comparison, rankings: Sequence[Ranking] = (), *, has_gate: bool = False, order: Order = "verdict"
) -> Document:
    """Return how many rows end in which word, the rows, their intervals and what would decide them, the ranks.

    `has_gate` asks for what the comparison means for a gate; `order` is that of tables and rows.
    """
    gate = gate_of(found)
    sides = Note((Code(found.b), " against ", Code(found.a)), is_aside=True)
    told = (Note((f"Gate {sentence(found, gate)}",), is_aside=True),) if has_gate else ()
    outcome = _GATES[gate.outcome] if has_gate else outcome_of(found)
    title, names = words.row_names(found)
    groups = _by_metric(found, order)
    details = (*tables_of(groups, names, title, intervals), *_remarks(found))
    ranks = (block for ranking in rankings for block in ranks_of(ranking))
    return Document(
        "compare",
        Verdict(outcome, (f"{words.counts_of(found)}.",)),
        (
            sides,
            *told,
            *tables_of(groups, names, title, summary),
            *geometric_means(found),
            Details("Intervals, and what would decide", details),
            *ranks,
        ),
        (Note((words.method_of(found),)),),
    )


def outcome_of(found: Comparison) -> Outcome:
    """Return what a comparison means as a whole: bad where something is worse, good where all is decided otherwise."""
    if any(row.direction == "worse" for row in found.rows):
        return "bad"
    if any(row.verdict == "different" and row.direction is None for row in found.rows):
        return "plain"
    return _GATES[gate_of(found).outcome]


def _row_outcome(row: ComparisonRow) -> Outcome:
    if row.verdict != "different":
        return _ROWS[row.verdict]
    return {"better": "good", "worse": "bad"}.get(row.direction or "", "plain")  # pyright: ignore[reportReturnType]


# Rows


def placed(found: Comparison, rows: Sequence[ComparisonRow]) -> list[_Placed]:
    """Return the rows with their places in a comparison."""
    places = {id(row): at for at, row in enumerate(found.rows)}
    return [(places[id(row)], row) for row in rows]


def _by_metric(found: Comparison, order: Order) -> list[list[_Placed]]:
    """Return the rows of each metric with their places; rows that are equal in the order stay as the experiment has them."""
    groups: dict[str, list[_Placed]] = {}
    for at, row in sorted(enumerate(found.rows), key=lambda placed: _ORDERS[order](placed[1])):
        groups.setdefault(row.metric.name, []).append((at, row))
    return list(groups.values())


def tables_of(
    groups: Sequence[Sequence[_Placed]],
    names: Mapping[str, str],
    title: str,
    table: Callable[[Sequence[_Placed], Mapping[str, str], str], Table],
) -> list[Table]:
    """Return a table for each metric; of many metrics one table together, so that each takes a line."""
    tables = [table(rows, names, title) for rows in groups]
    if len(groups) <= MANY_METRICS:
        return tables
    one_name = len(names) == 1
    columns = max((each.columns for each in tables), key=len)
    heads = (Column("metric"), *columns[one_name:])
    return [
        Table(
            tables[0].key.partition("-")[0],
            (counted(len(groups), "metric"),),
            heads,
            tuple(
                (
                    words.metric_of(
                        rows[0][1], words.scales_of([row for _, row in rows])[rows[0][1].metric.name]
                    ),
                    *row[one_name:],
                )
                for rows, each in zip(groups, tables, strict=True)
                for row in each.rows
            ),
        )
    ]


def summary(rows: Sequence[_Placed], names: Mapping[str, str], title: str) -> Table:
    """Return the verdict, the change and the means of each row of a metric; `names` are what rows are called, `title` heads them."""
    scales = words.scales_of([row for _, row in rows])
    first = next((row for _, row in rows if row.difference is not None), rows[0][1])
    numbers = (Column("change", is_numeric=True), Column("A", is_numeric=True), Column("B", is_numeric=True))
    return Table(
        f"comparison-{first.metric.name}",
        (words.title_of(first, scales[first.metric.name]),),
        (Column(title), Column("verdict"), *numbers),
        tuple((Name(names[row.treatment]), *_judged(at, row, scales[row.metric.name])) for at, row in rows),
        most=_MOST,
    )


def geometric_means(found: Comparison, place: str = "") -> Iterator[Block]:
    """Yield the geometric means of B / A, as changes in percent; nothing if there are none. `place` is that of `found` in the JSON."""
    lines = tuple(
        _geometric(f"{place}/geometric_means/{at}", one) for at, one in enumerate(found.geometric_means)
    )
    if lines:
        yield Items(lines, most=None)


def _geometric(at: str, one: GeometricMean) -> Text:
    of = f"{one.of} of {one.rows} treatments" if one.of else f"{one.rows} metrics in {one.unit}"
    begin = f"geometric mean of B / A, {of}: "
    without = f"; {one.left_out} with values of 0 or below left out" if one.left_out else ""
    if one.percent is None:
        return (begin, ABSENT, f" ({one.reason})", without)
    return (begin, estimate_of(one.percent, f"{at}/percent", "%", sign=True), without)


def _urgency(row: ComparisonRow) -> int:
    if row.verdict == "different":
        return 1 if row.direction == "better" else 0
    return {"undecided": 2, "no inference": 3, "equivalent": 4}[row.verdict]


def by_size(row: ComparisonRow) -> float:
    """Return what puts the largest change first, and what has none last."""
    change = row.difference.percent.estimate if row.difference else row.summary.percent_difference
    return -abs(change) if row.is_described and isfinite(change) else inf


_ORDERS: dict[Order, Callable[[ComparisonRow], int | float | str]] = {
    "verdict": _urgency,
    "change": by_size,
    "name": lambda row: row.treatment,
    "metric": lambda row: row.metric.name,
}


def _judged(at: int, row: ComparisonRow, shown: Scale) -> tuple[Cell, ...]:
    a, b = (
        Number(mean, f"/rows/{at}/summary/means/{place}", power=shown.power)
        for place, mean in enumerate(row.summary.means)
    )
    return Verdict(_row_outcome(row), (words.verdict_of(row),)), _change(at, row), a, b


def _change(at: int, row: ComparisonRow) -> Cell:
    """Return the change in percent with its interval; without inference that of the means alone."""
    if row.difference is not None:
        return estimate_of(row.difference.percent, f"/rows/{at}/difference/percent", "%", sign=True)
    alone = row.summary.percent_difference if row.is_described else None
    return _alone(Number(alone, unit="%", sign=True, digits=3))


def _alone(number: Number) -> Cell:
    return ABSENT if number.text == ABSENT else (number, f" {words.DESCRIPTIVE}")


def intervals(rows: Sequence[_Placed], names: Mapping[str, str], title: str) -> Table:
    """Return the intervals of each row of a metric, its p-value, and what would decide it."""
    shown = words.scales_of([row for _, row in rows])[rows[0][1].metric.name]
    heads = ("B − A", "B / A", words.P_FOR, "Hodges–Lehmann", "more")
    floors = (Column("noise floor", is_numeric=True),) if any(row.floor for _, row in rows) else ()
    columns = (Column(title), Column("n"), *(Column(head, is_numeric=True) for head in heads), *floors)
    cells = ((Name(names[row.treatment]), *_intervals(at, row, shown)) for at, row in rows)
    caption = (words.metric_of(rows[0][1], shown),)
    return Table(
        f"intervals-{rows[0][1].metric.name}",
        caption,
        columns,
        tuple(row[: len(columns)] for row in cells),
        most=_MOST,
    )


def _intervals(at: int, row: ComparisonRow, shown: Scale) -> tuple[Cell, ...]:
    return (
        words.n_of(row),
        *_differences(f"/rows/{at}", row, shown),
        words.claim_p_of(row),
        _shift(f"/rows/{at}", row, shown),
        words.short_bill(row),
        words.floor_of(row, shown),
    )


def _differences(at: str, row: ComparisonRow, shown: Scale) -> tuple[Cell, Cell]:
    """Return B − A in the unit of the metric, and B / A; without inference those of these trials alone."""
    one = row.difference
    if one is not None:
        difference = estimate_of(one.welch, f"{at}/difference/welch", power=shown.power, sign=True)
        return difference, estimate_of(one.ratio, f"{at}/difference/ratio")
    a, b = row.summary.means
    if not row.is_described:
        return ABSENT, ABSENT
    return _alone(Number(b - a, power=shown.power, sign=True)), _alone(Number(b / a if a else None))


def _shift(at: str, row: ComparisonRow, shown: Scale) -> Cell:
    """Return Hodges and Lehmann's shift; none of pooled metrics, whose values of single trials mean nothing by themselves."""
    if row.difference is None or row.metric.estimand == "pooled":
        return ABSENT
    shift = row.difference.hodges_lehmann
    return estimate_of(shift, f"{at}/difference/hodges_lehmann", power=shown.power, sign=True)


def _remarks(found: Comparison) -> Iterator[Block]:
    parts = {
        "Open": [f"{name}: {why}" for name, why in words.open_rows(found)],
        "What differs between the environments, A | B": list(words.environment_lines(found)),
        "Not compared": list(words.lacking(found)),
        "Remarks": list(words.remarks(found)),
    }
    for title, lines in parts.items():
        if lines:
            yield Heading((title,))
            yield Items(tuple((line,) for line in lines), most=MOST_ROWS)


def table_for_print(found: Comparison, called: Mapping[str, str] | None = None) -> Table:
    """Return means, difference and ratio with their intervals, p and verdict of each row; `called` are names for rows."""
    title, names = ("B against A", called) if called else words.row_names(found)
    heads = ("A", "B", "B − A", "B / A", words.P_FOR)
    scales = words.scales_of(found.rows)
    rows: list[tuple[Cell, ...]] = []
    for at, row in enumerate(found.rows):
        shown = scales[row.metric.name]
        verdict, _, a, b = _judged(at, row, shown)
        differences = _differences(f"/rows/{at}", row, shown)
        metric = words.metric_of(row, shown)
        p_value = words.claim_p_of(row)
        rows.append((names[row.treatment], metric, words.n_of(row), a, b, *differences, p_value, verdict))
    columns = (
        Column(title),
        Column("metric"),
        Column("n"),
        *(Column(head, is_numeric=True) for head in heads),
    )
    return Table("comparison", (words.method_of(found),), (*columns, Column("verdict")), tuple(rows))


# Ranks


def ranking_document(found: Ranking, notes: Sequence[str]) -> Document:
    """Return which treatments of one side may be the best; `notes` are on its trials."""
    best = [(_best(one), f" in {one.metric}") for one in found.metrics]
    answer: Text = (
        "May be the best: ",
        *joined((text for pair in best for text in (joined(pair, ""),)), "; "),
        ".",
    )
    if not best:
        answer = ("No metric says which way is better.",)
    told = Items(tuple((f"{found.side}: {note}",) for note in notes), most=None)
    return Document("compare", Verdict("plain", answer), (*ranks_of(found), *((told,) if notes else ())))


def _best(one: MetricRanking) -> Text:
    _, names = words.labels([place.treatment for place in one.treatments])
    return joined(Name(names[place.treatment]) for place in one.treatments if place.may_be_best)


def ranks_of(found: Ranking) -> Iterator[Block]:
    """Yield ranks by each metric, the set that may contain the best, and the Pareto set."""
    yield from (_metric_ranks(found.side, one) for one in found.metrics)
    if found.pareto is not None:
        yield from _front(found.side, found.pareto)
    if found.notes:
        yield Items(tuple((f"{found.side}: {note}",) for note in found.notes), most=None)


def _metric_ranks(side: str, one: MetricRanking) -> Table:
    shown = scale((place.mean for place in one.treatments), one.unit)
    title, names = words.labels([place.treatment for place in one.treatments])
    mean = "estimate" if one.what else "mean"
    columns = (
        Column("rank"), Column(title), Column(mean, is_numeric=True), Column(f"n ({one.level})", is_numeric=True), Column(""),
    )  # fmt: skip
    rows = tuple(
        (
            f"{place.best}" if place.best == place.worst else f"{place.best} to {place.worst}",
            Name(names[place.treatment]),
            Number(place.mean, power=shown.power),
            Number(place.n),
            "may be the best" if place.may_be_best else "",
        )
        for place in one.treatments
    )
    metric = words.named_metric(one.metric, one.what, shown)
    facts = (
        ("all ranks together ", given(one.confidence), f": {one.method}"),
        *((note,) for note in one.notes),
    )
    return Table(
        f"ranks-{one.metric}",
        (f"Ranks in {side}: {metric}, {one.better} is better",),
        columns,
        rows,
        facts,
        _MOST,
    )


def _front(side: str, front: ParetoFront) -> Iterator[Block]:
    _, names = words.labels(list(front.n))
    sizes = sorted(set(front.n.values()))
    n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    members = f"{counted(len(front.members), 'treatment')} of {len(front.n)} ({n} each)"
    yield Heading((f"Pareto set in {side}, by {' and '.join(front.metrics)}: {members}",))
    excluded = (
        (
            "not ",
            Name(names[name]),
            ": ",
            *joined(Name(names[each]) for each in by[:3]),
            " better in all of them",
        )
        for name, by in front.excluded.items()
    )
    lines = (joined(Name(names[name]) for name in front.members), *excluded)
    held: Text = ("each of the front is in it at ", given(front.confidence), f": {front.method}")
    yield Items((*lines, held, *((note,) for note in front.notes)), most=None)


# Pantheon's table

_PAPER = {
    "pantheon_throughput": "throughput (Mbit/s)",
    "pantheon_delay": "95th percentile delay (ms)",
    "pantheon_loss": "% loss rate",
}
_SHORT = {"pantheon_throughput": "throughput", "pantheon_delay": "p95 delay", "pantheon_loss": "loss rate"}
PAPER_HEAD = (
    "scheme", "exp 1 runs", "exp 2 runs", "aggregate metric", "mean 1", "mean 2", "% difference", "std dev 1", "std dev 2",
    "% difference",
)  # fmt: skip


def paper_document(found: Comparison) -> Document:
    """Return the table of Pantheon's `compare_two_experiments.py`, as its replication walkthrough shows it, and what replicates.

    The walkthrough infers nothing. The verdicts below its table say which numbers of A come out of B within the margin.
    """
    note = "Standard deviations have n in the denominator: that of a single run is 0, and its change of −100 % says nothing."
    answer = ("Comparison of: ", Name(found.a), " and ", Name(found.b))
    replicates = (Heading((words.replication_of(found),)), replication_table(found))
    return Document(
        "paper",
        Verdict("plain", answer),
        (paper_table(found), *replicates, *_remarks(found)),
        (Note((note,)), Note((words.method_of(found),))),
    )


def replication_table(found: Comparison) -> Table:
    """Return the verdict and the change of every metric of each treatment, one row a treatment."""
    title, names = words.row_names(found)
    metrics = {row.metric.name: _SHORT.get(row.metric.name, row.metric.name) for row in found.rows}
    cells = {(row.treatment, row.metric.name): _verdict_and_change(row) for row in found.rows}
    rows = tuple(
        (Name(names[treatment]), *(cells.get((treatment, metric), ABSENT) for metric in metrics))
        for treatment in dict.fromkeys(row.treatment for row in found.rows)
    )
    return Table("replication", (), (Column(title), *map(Column, metrics.values())), rows, most=_MOST)


def _verdict_and_change(row: ComparisonRow) -> str:
    change = row.difference and row.difference.percent
    return row.verdict if change is None else f"{row.verdict} {signed(change.estimate)} %"


def paper_table(found: Comparison) -> Table:
    """Return the cells of that table."""
    _, names = words.row_names(found)
    rows = tuple(
        (
            names[row.treatment],
            *map(str, row.summary.n),
            paper_metric(row),
            *(decimals(mean, 2) for mean in row.summary.means),
            _signed(row.summary.percent_difference),
            *(decimals(deviation, 2) for deviation in row.summary.standard_deviations),
            _signed(row.summary.percent_difference_deviation),
        )
        for row in found.rows
    )
    return Table("paper", (), tuple(Column(head, is_numeric=True) for head in PAPER_HEAD), rows, most=None)


def paper_metric(row: ComparisonRow) -> str:
    """Return the walkthrough's name of a metric."""
    unit = f" ({row.metric.unit})" if row.metric.unit else ""
    return _PAPER.get(row.metric.name, f"{row.metric.name}{unit}")


def _signed(value: float) -> str:
    written = decimals(value, 2)
    return ABSENT if written == ABSENT else f"{'' if written.startswith('-') else '+'}{written}%"
