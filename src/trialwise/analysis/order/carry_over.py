"""Carry-over of every metric and group, from the rounds of all workers together."""

from __future__ import annotations

import dataclasses
from math import ceil

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.order.results import GroupCarryOver, LastingEffect, Matrix, PairEffect
from trialwise.analysis.order.trials import RANDOM
from trialwise.late import pl

_MAX_IN_MATRIX = 40
_MAX_PERMUTED = 50
"""Largest number of analyses with permutations; among more, they could not show that one stands out."""
_SWITCHES = 8
"""Orders count as interleaved if they change at least once in this number of rounds (on average every second one)."""


def interleaved(table: pl.DataFrame) -> bool:
    """Return True if fixed and random rounds alternate, or if there is one order only."""
    if table["order"].n_unique() < 2:
        return True
    keys = ["metric", "group", "worker"]
    rounds = table.group_by(*keys, "turn").agg(pl.col("order").first()).sort(*keys, "turn")
    changed = (pl.col("order") != pl.col("order").shift(1)).over(keys).fill_null(value=False)
    counts = rounds.group_by(keys).agg(
        changed.sum().alias("switches"), pl.len().alias("rounds"), pl.col("order").n_unique().alias("orders")
    )
    both = counts.filter(pl.col("orders") > 1)
    return both.is_empty() or 2 * int((both["switches"] * _SWITCHES >= both["rounds"]).sum()) >= both.height


def varied(table: pl.DataFrame) -> bool:
    """Return True if there are random or balanced rounds in which some treatment changes its position."""
    places = (
        table.filter(pl.col("order") == RANDOM)
        .group_by("metric", "group", "treatment")
        .agg(pl.col("position").n_unique())
    )
    return bool((places["position"] > 1).any())


def carry_overs(
    table: pl.DataFrame, confidence: float, margin: float, permutations: int | None = None
) -> tuple[GroupCarryOver, ...]:
    """Analyse carry-over in each metric and group, from random and balanced rounds.

    In a fixed order each treatment always has the same predecessor and position, so their effects are confounded with each other and
    with everything else about that order.
    """
    loose = table.filter(pl.col("order") == RANDOM)
    names: list[str] = table["treatment"].unique(maintain_order=True).to_list()
    parts = loose.partition_by("metric", "group", maintain_order=True)
    if len(parts) > _MAX_PERMUTED and permutations is None:
        permutations = 0
    return tuple(_group(part, names, confidence, margin, permutations) for part in parts)


def _group(
    part: pl.DataFrame, names: list[str], confidence: float, margin: float, permutations: int | None
) -> GroupCarryOver:
    workers = part["worker"].n_unique()
    if workers > 1:
        part = part.with_columns(_on_one_level())
    rounds = part["turn"] * workers + part["worker"].rank("dense").cast(pl.Int64) - 1
    found = st.carry_over(
        part["value"].to_numpy(),
        part["treatment"].to_list(),
        rounds.to_numpy(),
        part["position"].to_numpy(),
        follows=part["follows"].to_numpy(),
        confidence=confidence,
        permutations=permutations,
    )
    effects = tuple(_pair(pair) for pair in found.pairs if pair.named)
    lasting = tuple(_lasting(pair) for pair in found.lasting if pair.named)
    not_excluded, further = _precision(found, part.select("worker", "round").n_unique(), margin)
    return GroupCarryOver(
        metric=part["metric"][0],
        group=part["group"][0] or None,
        n=found.n,
        n_pairs=found.n_pairs,
        tested=sum(not np.isnan(pair.p_value) for pair in found.pairs),
        pairs=tuple(sorted(effects, key=lambda pair: -abs(pair.percent or 0.0))),
        tested_lasting=sum(not np.isnan(pair.p_value) for pair in found.lasting),
        lasting=tuple(sorted(lasting, key=lambda pair: -abs(pair.percent or 0.0))),
        matrix=_matrix(names, found),
        position=found.position,
        drift=_times(found.drift, workers),
        first=found.first,
        not_excluded=not_excluded,
        further_rounds=further,
        confidence=confidence,
        method=found.method,
        note=found.note,
    )


def _precision(found: st.CarryOver, rounds: int, margin: float) -> tuple[float | None, int | None]:
    """Return the largest effect in percent that is not excluded, and the further rounds to exclude all beyond the margin.

    Without any effect, all estimates would lie within the half-width of the widest interval (at the joint confidence of all pairs),
    so twice this within the margin is enough.
    """
    scales = np.array([pair.percent / pair.effect if pair.effect else np.nan for pair in found.pairs])
    low, high = (
        scales * np.array([getattr(pair, end) for pair in found.pairs], dtype=np.float64)
        for end in ("low", "high")
    )
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return None, None
    reach = float(np.maximum(np.abs(low), np.abs(high))[known].max())
    if reach <= margin:
        return reach, None
    half = float(np.abs(high - low)[known].max()) / 2
    return reach, max(1, ceil(rounds * ((2 * half / margin) ** 2 - 1)))


def _on_one_level() -> pl.Expr:
    """Return values adjusted for the difference between the treatment's median on this worker and on all workers."""
    value = pl.col("value")
    return value - value.median().over("worker", "treatment") + value.median().over("treatment")


def _times(trend: st.Trend, factor: int) -> st.Trend:
    """Convert the step between rounds of all workers to the step between rounds of one."""
    return dataclasses.replace(
        trend, estimate=factor * trend.estimate, low=factor * trend.low, high=factor * trend.high
    )


def _ends(pair: st.CarryOverPair | st.LastingPair) -> tuple[float, float] | None:
    """Return the bounds in percent; None if the effect has none."""
    scale = pair.percent / pair.effect if pair.effect else float("nan")
    if not np.isfinite(scale):
        return None
    low, high = sorted((scale * pair.low, scale * pair.high))
    return low, high


def _pair(pair: st.CarryOverPair) -> PairEffect:
    ends = _ends(pair)
    return PairEffect(
        treatment=str(pair.treatment),
        predecessor=str(pair.predecessor),
        effect=pair.effect,
        low=pair.low,
        high=pair.high,
        percent=None if ends is None else pair.percent,
        percent_low=None if ends is None else ends[0],
        percent_high=None if ends is None else ends[1],
        p_value=pair.p_value,
        n=pair.n,
    )


def _lasting(pair: st.LastingPair) -> LastingEffect:
    ends = _ends(pair)
    return LastingEffect(
        treatment=str(pair.treatment),
        earlier=str(pair.earlier),
        effect=pair.effect,
        low=pair.low,
        high=pair.high,
        percent=None if ends is None else pair.percent,
        percent_low=None if ends is None else ends[0],
        percent_high=None if ends is None else ends[1],
        p_value=pair.p_value,
        n_before=pair.n_before,
        n_after=pair.n_after,
        alike=tuple(map(str, pair.alike)),
        explains=tuple(map(str, pair.explains)),
    )


def _matrix(names: list[str], found: st.CarryOver) -> Matrix | None:
    there = {pair.treatment for pair in found.pairs} | {pair.predecessor for pair in found.pairs}
    if len(there) > _MAX_IN_MATRIX:
        return None
    names = [name for name in names if name in there]
    known = {(pair.treatment, pair.predecessor): pair for pair in found.pairs}

    def cell(treatment: str, predecessor: str, what: str) -> float | None:
        pair = known.get((treatment, predecessor))
        value = float("nan") if pair is None else float(getattr(pair, what))
        return None if np.isnan(value) else value

    percent, p_values = (
        tuple(tuple(cell(one, other, what) for other in names) for one in names)
        for what in ("percent", "p_value")
    )
    counts = tuple(
        tuple(0 if (pair := known.get((one, other))) is None else pair.n for other in names) for one in names
    )
    return Matrix(tuple(names), percent, p_values, counts)
