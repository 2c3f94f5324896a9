"""One worker against all others: whether what the order does is a property of the machine or of the test."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import groupby
from math import sqrt

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtr

from trialwise import statistics as st
from trialwise.analysis import order_sentences as say
from trialwise.analysis.order_results import WorkerDifference, WorkerSpread
from trialwise.analysis.order_trials import FIXED, RANDOM
from trialwise.statistics.harmonics import holm

Array = npt.NDArray[np.float64]
_FEWEST = 5
_Z = 1.959964
"""From a 95 % interval to its standard error."""


def worker_spread(table: pl.DataFrame, changed: AbstractSet[tuple[str, str, str]]) -> Iterator[WorkerSpread]:
    """For each treatment that order changes: on how many workers its median moves in the direction of all."""
    if table["worker"].n_unique() < 2:
        return
    keys = ["metric", "group", "treatment"]
    medians = [
        pl.col("value").filter(pl.col("order") == order).median().alias(order) for order in (FIXED, RANDOM)
    ]
    whole = table.group_by(keys, maintain_order=True).agg(medians)
    each = table.group_by(*keys, "worker").agg(medians)
    for row in whole.iter_rows(named=True):
        key = (row["metric"], row["group"], row["treatment"])
        if key not in changed:
            continue
        own = each.filter(*(pl.col(name) == value for name, value in zip(keys, key, strict=True)))
        moves = (own[FIXED] - own[RANDOM]).drop_nulls().to_numpy()
        alike = int((np.sign(moves) == np.sign(row[FIXED] - row[RANDOM])).sum())
        yield WorkerSpread(
            key[0], key[1] or None, key[2], moves.size, alike, say.spread(key[2], alike, moves.size)
        )


def worker_differences(table: pl.DataFrame, alpha: float) -> Iterator[WorkerDifference]:
    """Workers whose level, or whose order effect, differs from the others' in a treatment (Holm over all of them)."""
    if table["worker"].n_unique() < 2:
        return
    found = sorted(_tested(table), key=lambda one: one.what)
    for _, tests in groupby(found, key=lambda one: one.what):
        family = list(tests)
        for one, p_value in zip(family, holm([test.p_corrected for test in family]), strict=True):
            if p_value < alpha:
                yield say.worker(one, p_value)


def _tested(table: pl.DataFrame) -> Iterator[WorkerDifference]:
    """All comparisons, with p-values that are not corrected yet."""
    for part in table.drop_nulls("value").partition_by("metric", "group", "treatment", maintain_order=True):
        worker, order = part["worker"].to_numpy(), part["order"].to_numpy()
        values = part["value"].to_numpy()
        metric, group, treatment = part["metric"][0], part["group"][0] or None, part["treatment"][0]
        for name in part["worker"].unique(maintain_order=True):
            own = worker == name
            for what, result in (
                ("level", _level(values, own)),
                ("order", _order(values, own, order == FIXED)),
            ):
                if result is not None:
                    yield WorkerDifference(metric, group, name, treatment, what, *result, sentence="")


def _level(values: Array, own: npt.NDArray[np.bool_]) -> tuple[float | None, float] | None:
    if min(own.sum(), (~own).sum()) < _FEWEST:
        return None
    effect = st.order_effect(values[~own], values[own])
    base = effect.fixed_interval.median
    return (-100 * effect.shift.estimate / base if base else None), effect.p_value


def _order(
    values: Array, own: npt.NDArray[np.bool_], fixed: npt.NDArray[np.bool_]
) -> tuple[float | None, float] | None:
    """The difference of the two order effects by their Hodges-Lehmann shifts, normal with the intervals' widths."""
    parts = [values[mine & order] for mine in (own, ~own) for order in (fixed, ~fixed)]
    if min(part.size for part in parts) < _FEWEST:
        return None
    here, there = st.order_effect(*parts[:2]), st.order_effect(*parts[2:])
    error = sqrt(sum(_error(one.shift) ** 2 for one in (here, there)))
    difference = here.shift.estimate - there.shift.estimate
    base = there.fixed_interval.median
    if error <= 0 or not np.isfinite(error):
        return None
    return (100 * difference / base if base else None), 2 * float(ndtr(-abs(difference) / error))


def _error(shift: st.Shift) -> float:
    if shift.low is None or shift.high is None:
        return float("inf")
    return (shift.high - shift.low) / (2 * _Z)
