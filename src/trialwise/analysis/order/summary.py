"""Data for figures of order in addition to the analysis: trials over time, positions and rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.analysis.order.results import OrderAnalysis
from trialwise.analysis.order.trials import FIXED, RANDOM, OrderTrials
from trialwise.late import pl

MAX_TRIALS = 3000
"""Maximum number of trials drawn; more are thinned evenly over time."""
_MAX_BINS = 60
NOT_FROM_TABLE = (
    "The order is not judged from this table, which does not say in which round and at which position a trial ran: "
    "`trialwise order` reads tables that do."
)
"""Why the report of a table has no order."""


@dataclass(frozen=True, slots=True)
class CourseTrial:
    """A trial: its round (from 0, in the order in which they ran), position, and distance from its median in percent."""

    turn: int
    position: float
    order: str
    treatment: str
    worker: str
    value: float
    percent: float


@dataclass(frozen=True, slots=True)
class Bin:
    """The median of distances (percent) of `n` trials from position (or round) `first` to `last`, with its interval."""

    first: float
    last: float
    median: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Course:
    """Trials of one metric and group over time.

    A trial's distance is from the median of its treatment on its worker. `trials` holds at most `MAX_TRIALS` of `n`; `without` have
    no distance, because their treatment's median is 0. `positions` are from rounds in random order only (in fixed order position and
    treatment are confounded), `rounds` from all.
    """

    metric: str
    group: str | None
    n: int
    without: int
    trials: tuple[CourseTrial, ...]
    positions: tuple[Bin, ...]
    rounds: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class OrderSummary:
    """An analysis of order with the data for its figures.

    `refusal` says why the order cannot be judged, and the remedy; empty if it can. `units` are by metric.
    """

    found: OrderAnalysis | None
    refusal: str
    courses: tuple[Course, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict[str, str])


def view_of(
    trials: OrderTrials, found: OrderAnalysis, units: Mapping[str, str] | None = None
) -> OrderSummary:
    """Build the data for the figures of an analysis, and say whether it judges the order."""
    courses = tuple(_courses(trials.table, found.confidence))
    return OrderSummary(found, refusal(trials.table, found), courses, units or {})


def refusal(table: pl.DataFrame, found: OrderAnalysis) -> str:
    """Say in a sentence why the order cannot be judged, and the remedy; empty if something was tested."""
    if any(one.p_value is not None for one in found.treatments) or any(
        group.tested for group in found.carry_over
    ):
        return ""
    begin = "The order cannot be judged: "
    if table["treatment"].n_unique() < 2:
        return f"{begin}there is one treatment; with a second one there is an order."
    if table["order"].unique().to_list() == [FIXED]:
        return (
            f"{begin}all rounds ran in fixed order, where what a predecessor does looks like a property of the treatment; "
            'order = "fixed+random" (or "random", "balanced") in [design] would show it.'
        )
    if table["treatment"].n_unique() == 2:
        return (
            f"{begin}of two treatments each only ever runs after the other; "
            'order = "fixed+random" in [design] would compare the orders, a third treatment the predecessors.'
        )
    notes = dict.fromkeys(group.note for group in found.carry_over if group.note)
    return begin + ("; ".join(notes) or "too few rounds have run; more would do") + "."


# Trials over time


def _courses(table: pl.DataFrame, confidence: float) -> Iterator[Course]:
    several = table["worker"].n_unique() > 1
    level = ["treatment", "worker"] if several else ["treatment"]
    for part in table.partition_by("metric", "group", maintain_order=True):
        known = part.drop_nulls("value")
        distant = _distant(known, level)
        drawn = distant.sort("turn", "position")
        drawn = drawn[_spread(drawn.height)]
        random = _distant(known.filter(pl.col("order") == RANDOM), level)
        yield Course(
            metric=part["metric"][0],
            group=part["group"][0] or None,
            n=known.height,
            without=known.height - distant.height,
            trials=tuple(CourseTrial(*row) for row in drawn.select(*CourseTrial.__slots__).iter_rows()),
            positions=tuple(_bins(random, "position", confidence)),
            rounds=tuple(_bins(distant, "turn", confidence)),
        )


def _distant(part: pl.DataFrame, level: Sequence[str]) -> pl.DataFrame:
    """Return trials with their distance in percent from the median of their kind, if that is not 0."""
    median = pl.col("value").median().over(level)
    percent = 100 * (pl.col("value") - median) / median.abs()
    return part.with_columns(percent.alias("percent")).filter(pl.col("percent").is_finite())


def _spread(count: int) -> npt.NDArray[np.int64]:
    """Return indices of at most `MAX_TRIALS` rows, evenly spread, including the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, MAX_TRIALS)).round().astype(np.int64))


def _bins(part: pl.DataFrame, name: str, confidence: float) -> Iterator[Bin]:
    """Yield medians along a column; neighbours share a bin if there are more than sixty values."""
    if part.is_empty():
        return
    known = part[name].unique().sort()
    width = -(-known.len() // _MAX_BINS)
    place = (pl.col(name).rank("dense").cast(pl.Int64) - 1) // width
    for bin_ in part.with_columns(place.alias("bin")).sort("bin").partition_by("bin", maintain_order=True):
        found = st.median_interval(bin_["percent"].to_numpy(), confidence)
        first, last = float(bin_[name].to_numpy().min()), float(bin_[name].to_numpy().max())
        yield Bin(first, last, found.median, found.low, found.high, found.n)
