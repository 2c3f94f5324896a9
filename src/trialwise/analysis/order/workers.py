"""Comparison of one worker with all others: whether an effect of order is a property of the machine or of the test."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from trialwise.analysis.order.results import WorkerDifference, WorkerSpread
from trialwise.analysis.order.trials import FIXED, RANDOM
from trialwise.arrays import Array
from trialwise.late import pl, special
from trialwise.statistics.order.order import interval_of_sorted, kruskal_wallis
from trialwise.statistics.pooled.estimates import Pooled

Flags = npt.NDArray[np.bool_]
_FEWEST = 6
"""With fewer values no interval of a median reaches 95 %."""
_Z = 1.959964
"""Factor from a 95 % interval to its standard error."""


def worker_spread(table: pl.DataFrame, changed: AbstractSet[tuple[str, str, str]]) -> Iterator[WorkerSpread]:
    """Yield, for each treatment affected by order, the number of workers on which its median moves in the overall direction."""
    if table["worker"].n_unique() < 2 or not changed:
        return
    keys = ["metric", "group", "treatment"]
    wanted = pl.DataFrame(list(changed), schema=dict.fromkeys(keys, pl.String), orient="row")
    table = table.join(wanted, on=keys, how="semi", maintain_order="left")
    medians = [
        pl.col("value").filter(pl.col("order") == order).median().alias(order) for order in (FIXED, RANDOM)
    ]
    each = table.group_by(*keys, "worker").agg(medians).partition_by(keys, as_dict=True)
    for row in table.group_by(keys, maintain_order=True).agg(medians).iter_rows(named=True):
        key = (row["metric"], row["group"], row["treatment"])
        own = each[key]
        moves = (own[FIXED] - own[RANDOM]).drop_nulls().to_numpy()
        alike = int((np.sign(moves) == np.sign(row[FIXED] - row[RANDOM])).sum())
        yield WorkerSpread(key[0], key[1] or None, key[2], moves.size, alike)


@dataclass(frozen=True, slots=True)
class _Part:
    """The values of one treatment in ascending order, with their worker and order."""

    metric: str
    group: str
    treatment: str
    values: Array
    workers: npt.NDArray[np.int64]
    fixed: Flags

    def without(self, worker: int) -> _Part:
        kept = self.workers != worker
        return dataclasses.replace(
            self, values=self.values[kept], workers=self.workers[kept], fixed=self.fixed[kept]
        )


def worker_differences(table: pl.DataFrame, alpha: float) -> Iterator[WorkerDifference]:
    """Yield workers with a different level, or a different order effect, from the others in a treatment.

    The worker that differs most is named and removed before the others are compared, since it would make them differ. p-values are
    corrected for all workers and treatments (Bonferroni).
    """
    names: list[str] = table["worker"].unique(maintain_order=True).to_list()
    if len(names) < 2:
        return
    codes = pl.col("worker").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    parts = (
        table.drop_nulls("value")
        .group_by("metric", "group", "treatment", maintain_order=True)
        .agg(pl.col("value"), codes.alias("code"), (pl.col("order") == FIXED).alias("is_fixed"))
    )
    for row in range(parts.height):
        metric, group, treatment = (str(parts[key][row]) for key in ("metric", "group", "treatment"))
        columns = [parts[key][row].to_numpy() for key in ("value", "code", "is_fixed")]
        order = np.argsort(columns[0])
        part = _Part(metric, group, treatment, *(column[order] for column in columns))
        for what in ("level", "order"):
            yield from _outliers(part, names, what, alpha, len(names) * parts.height)


def _outliers(
    part: _Part, names: Sequence[str], what: Literal["level", "order"], alpha: float, comparisons: int
) -> Iterator[WorkerDifference]:
    while (best := _most_different(part, what)) is not None:
        worker, percent, p_value = best
        if p_value * comparisons >= alpha:
            return
        yield WorkerDifference(
            metric=part.metric,
            group=part.group or None,
            worker=names[worker],
            treatment=part.treatment,
            what=what,
            percent=percent,
            p_corrected=p_value * comparisons,
        )
        part = part.without(worker)


def _most_different(part: _Part, what: Literal["level", "order"]) -> tuple[int, float | None, float] | None:
    """Return the worker with the smallest p-value against the others, its difference in percent, and that p-value."""
    found: list[tuple[int, float | None, float]] = []
    for worker in np.flatnonzero(np.bincount(part.workers)).tolist():
        own = part.workers == worker
        result = _level(part.values, own) if what == "level" else _order(part.values, own, part.fixed)
        if result is not None:
            found.append((worker, *result))
    return min(found, key=lambda one: one[2], default=None)


def _level(values: Array, own: Flags) -> tuple[float | None, float] | None:
    mine, others = values[own], values[~own]
    if min(mine.size, others.size) < _FEWEST:
        return None
    base = _median(others)
    h = kruskal_wallis(Pooled.of(mine, others))
    return (100 * (_median(mine) - base) / base if base else None), float(special.chdtrc(1, h))


def _order(values: Array, own: Flags, fixed: Flags) -> tuple[float | None, float] | None:
    """Compare two differences of medians by a normal approximation with the standard errors from their intervals."""
    parts = [values[mine & order] for mine in (own, ~own) for order in (fixed, ~fixed)]
    if min(part.size for part in parts) < _FEWEST:
        return None
    medians = [interval_of_sorted(part) for part in parts]
    difference = medians[0].median - medians[1].median - medians[2].median + medians[3].median
    error = sqrt(sum(((one.high - one.low) / (2 * _Z)) ** 2 for one in medians))
    base = medians[2].median
    if error <= 0:
        return None
    return (100 * difference / base if base else None), 2 * float(special.ndtr(-abs(difference) / error))


def _median(ordered: Array) -> float:
    return float(ordered[(ordered.size - 1) // 2] + ordered[ordered.size // 2]) / 2
