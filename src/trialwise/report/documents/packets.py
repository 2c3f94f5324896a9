"""What `trialwise packets` says: the metrics of the flows in a record of packets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from trialwise.measurement.path_statistics import FlowMetrics, PathStatistics, TwoEnds
from trialwise.report.document import Block, Cell, Document, Name, Note, Table, Text, Verdict, table_of
from trialwise.report.numbers import Number, decimals

_NEXT_TO_NOTHING = 1e-9
"""Seconds: the end of a log without packets."""
_COLUMNS = (
    "flow", "Mbit/s", "p50 ms", "p95 ms", "loss %", "delivered", "dropped", "held", "copies", "ECT(1)", "ECT(0)", "CE",
    "use %", "Pantheon: Mbit/s", "p95 ms", "loss %", "use %",
)  # fmt: skip


def document(found: PathStatistics) -> Document:
    """Return what was read, then a table of flows for each direction, and what to know about them."""
    verdict = Verdict("plain" if found.metrics else "open", (Name(str(found.file)), f": {found.kind}"))
    return Document("packets", verdict, tuple(_blocks(found)))


def _blocks(found: PathStatistics) -> Iterator[Block]:
    yield from _directions(found)
    for note in found.notes:
        yield Note((Name(note),), is_aside=True)
    if found.ends is not None:
        yield from (Note(text) for text in _of_clocks(found.ends))
        yield from (Note(text, standing="warning") for text in _troubles(found.ends))


def _of_clocks(ends: TwoEnds) -> Iterator[Text]:
    if ends.alike:
        yield (
            "Delays are left out: more than 0.1 % of the packets look like others, such as those of TCP without time stamps.",
        )
    elif ends.delay == "difference":
        yield ("Only one direction has packets: delays are those above its lowest.",)
    else:
        bound = Number(ends.bound, "/ends/bound", "ms", "up")
        trip = Number(ends.round_trip, "/ends/round_trip", "ms")
        yield (
            "One-way delays hold within ±", bound, "; the lowest round trip took ", trip,
            ". Differences between delays of one direction, throughput and loss do not depend on it.",
        )  # fmt: skip
    if isfinite(ends.skew):
        low, high = (
            Number(ends.skew_low, "/ends/skew_low", "", "down"),
            Number(ends.skew_high, "/ends/skew_high", "", "up"),
        )
        skew = Number(ends.skew, "/ends/skew", "µs", sign=True)
        yield ("The clock of the second end gains ", skew, " a second (", low, " to ", high, ").")


def _troubles(ends: TwoEnds) -> Iterator[Text]:
    """Return what makes the numbers doubtful."""
    if ends.steps:
        yield ("A clock was set meanwhile (", _count(ends.steps, "steps"), "): measure again.")
    if ends.routes:
        yield (
            "The lowest delay of a direction changed (", _count(ends.routes, "routes"),
            "): another route, or a queue that stood; look at the parts alone with --start and --stop.",
        )  # fmt: skip
    if ends.contradicted:
        yield ("The times of day of both machines differ by more than --clock-error says.",)
    if ends.proxied:
        yield ("Packets of TCP do not match while others do: a proxy on the way ends its connections.",)
    if ends.lost is None:
        yield ("A capture did not come to its end, so packets may be missing at its end.",)
    elif ends.lost:
        yield (
            "The captures missed ",
            _count(ends.lost, "lost"),
            " packets: some that count as dropped were not.",
        )


def _count(value: int, key: str) -> Number:
    return Number(value, f"/ends/{key}", kind="count")


def _directions(found: PathStatistics) -> Iterator[Block]:
    if not found.metrics:
        span = _span(found) if found.stop > _NEXT_TO_NOTHING else ()
        yield Note(("no packets", *((" from ", *span) if span else ())), is_aside=True)
    for direction in dict.fromkeys(one.direction for one in found.metrics):
        capacity = found.capacities.get(direction)
        said = (", capacity ", Number(capacity.scheduled, unit="Mbit/s")) if capacity else ()
        caption = (f"{direction.capitalize()}, ", *_span(found), *said)
        yield _table(direction, caption, [one for one in found.metrics if one.direction == direction])


def _span(found: PathStatistics) -> Text:
    start = Number(found.start, unit="s", kind="given")
    return (start, " to ", Number(found.stop, unit="s", digits=6))


def _table(key: str, caption: Text, rows: Sequence[FlowMetrics]) -> Table:
    """Return a row for each flow; columns in which nobody has anything are left out."""
    places = range(1, len(_COLUMNS))
    made = table_of(key, "", _COLUMNS, tuple(map(_cells, rows)), places, remarks=places)
    return Table(key, caption, made.columns, made.rows, most=None)


def _cells(one: FlowMetrics) -> tuple[Cell, ...]:
    return (
        "all" if one.flow is None else str(one.flow),
        decimals(one.throughput, 3),
        decimals(one.delay_median, 2),
        decimals(one.delay_p95, 2),
        decimals(one.loss, 3),
        str(one.delivered),
        str(one.dropped),
        str(one.held),
        *(str(count) if count else "" for count in (one.duplicates, one.ect1, one.ect0, one.ce)),
        decimals(one.utilisation, 1),
        decimals(one.pantheon_throughput, 3),
        decimals(one.pantheon_delay, 2),
        decimals(one.pantheon_loss, 3),
        decimals(one.pantheon_utilization, 1),
    )
