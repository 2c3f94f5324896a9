"""Traces and the metrics of packets as text for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trialwise.report.numbers import write

if TYPE_CHECKING:
    from trialwise.measurement.opportunities import TraceSummary
    from trialwise.measurement.path_statistics import FlowMetrics, PathStatistics
_NEXT_TO_NOTHING = 1e-9
"""Seconds: the end of a log without packets."""


def trace_lines(name: str, found: TraceSummary) -> Iterator[str]:
    """What `trialwise trace show` says."""
    yield f"Trace {name}"
    yield f"  {found.opportunities} opportunities, repeated every {_time(found.period_ms)}"
    mean, mahimahi = found.mean_rate, found.mean_rate_mahimahi
    yield f"  mean rate {write(mean)} Mbit/s of IP packets (mm-link, which counts 4 bytes more, {write(mahimahi)})"
    smallest, *between, largest = (write(value) for value in found.percentiles.values())
    ranks = list(found.percentiles)[1:-1]
    yield f"  in bins of {_time(found.bin_ms)}: {smallest} to {largest} Mbit/s"
    yield f"    percentiles {', '.join(f'{rank}: {value}' for rank, value in zip(ranks, between, strict=True))}"
    yield f"  longest gap {_time(found.longest_gap_ms)}, from {_time(found.longest_gap_at_ms)} on"
    yield f"  at most {found.most_in_a_millisecond} in a millisecond"
    for warning in found.warnings:
        yield f"  note: {warning}"


def _time(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:g} s"


def packets_lines(found: PathStatistics) -> Iterator[str]:
    """What `trialwise packets` says."""
    yield f"{found.file}: {found.kind}"
    if not found.metrics:
        span = (
            f" from {found.start:g} s to {write(found.stop, digits=6)} s"
            if found.stop > _NEXT_TO_NOTHING
            else ""
        )
        yield f"  no packets{span}"
    for direction in dict.fromkeys(one.direction for one in found.metrics):
        capacity = found.capacities.get(direction)
        said = f", capacity {write(capacity.scheduled)} Mbit/s" if capacity else ""
        yield f"{direction.capitalize()}, {found.start:g} s to {write(found.stop, digits=6)} s{said}"
        rows = [one for one in found.metrics if one.direction == direction]
        yield from _table(rows)


def _table(rows: list[FlowMetrics]) -> Iterator[str]:
    heads = ("flow", "Mbit/s", "p50 ms", "p95 ms", "loss %", "delivered", "dropped", "held", "use %")
    heads += ("Pantheon: Mbit/s", "p95 ms", "loss %", "use %")
    table = [heads, *(_cells(one) for one in rows)]
    widths = [max(len(row[place]) for row in table) for place in range(len(heads))]
    kept = [place for place in range(len(heads)) if any(row[place] != "-" for row in table[1:])]
    for row in table:
        yield "  " + "  ".join(row[place].rjust(widths[place]) for place in kept)


def _cells(one: FlowMetrics) -> tuple[str, ...]:
    return (
        "all" if one.flow is None else str(one.flow),
        _number(one.throughput, 3),
        _number(one.delay_median, 2),
        _number(one.delay_p95, 2),
        _number(one.loss, 3),
        str(one.delivered),
        str(one.dropped),
        str(one.held),
        _number(one.utilisation, 1),
        _number(one.pantheon_throughput, 3),
        _number(one.pantheon_delay, 2),
        _number(one.pantheon_loss, 3),
        _number(one.pantheon_utilization, 1),
    )


def _number(value: float, decimals: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{decimals}f}"
