"""What `trialwise packets` says: the metrics of the flows in a record of packets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.measurement.path_statistics import FlowMetrics, PathStatistics
from trialwise.report.document import Block, Cell, Document, Name, Note, Table, Text, Verdict, table_of
from trialwise.report.numbers import Number, decimals

_NEXT_TO_NOTHING = 1e-9
"""Seconds: the end of a log without packets."""
_COLUMNS = (
    "flow", "Mbit/s", "p50 ms", "p95 ms", "loss %", "delivered", "dropped", "held", "use %",
    "Pantheon: Mbit/s", "p95 ms", "loss %", "use %",
)  # fmt: skip


def document(found: PathStatistics) -> Document:
    """Return what was read, then a table of flows for each direction, and what to know about them."""
    verdict = Verdict("plain" if found.metrics else "open", (Name(str(found.file)), f": {found.kind}"))
    return Document("packets", verdict, tuple(_blocks(found)))


def _blocks(found: PathStatistics) -> Iterator[Block]:
    yield from _directions(found)
    for note in found.notes:
        yield Note((Name(note),), is_aside=True)


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
        decimals(one.utilisation, 1),
        decimals(one.pantheon_throughput, 3),
        decimals(one.pantheon_delay, 2),
        decimals(one.pantheon_loss, 3),
        decimals(one.pantheon_utilization, 1),
    )
