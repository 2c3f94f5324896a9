"""Estimates from trials with Sobol flow lists: blocks are the units, and trials are parts of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.estimation.estimates import estimate, trial_value, trial_values
from trialwise.analysis.estimation.results import Estimate
from trialwise.analysis.observations import Observation
from trialwise.arrays import Array
from trialwise.experiment.model import Estimand, Metric
from trialwise.experiment.simulation import SOBOL_BLOCK
from trialwise.numbers import about, counted
from trialwise.store.records import TrialRow


def whole_blocks(observations: Sequence[Observation], rows: Mapping[int, TrialRow]) -> list[list[Array]]:
    """Return the samples of each trial of the complete blocks (every trial gave values): one list per block, in plan order."""
    blocks: dict[tuple[int, int], list[Array]] = {}
    for one in observations:
        row = rows[one.number]
        blocks.setdefault((row.series, (row.round - 1) // SOBOL_BLOCK), []).append(one.values)
    return [blocks[key] for key in sorted(blocks) if len(blocks[key]) == SOBOL_BLOCK]


def gain_text(blocks: int, gain: float) -> str:
    """Describe the gain from blocks in words."""
    return (
        f"{blocks} blocks of {SOBOL_BLOCK} trials, each a scrambled Sobol sample and a unit of the interval: gain "
        f"{about(gain)} against trials drawn each by itself"
    )


def estimate_of_blocks(
    metric: Metric, estimand: Estimand, blocks: Sequence[Sequence[Array]], trials: int, confidence: float
) -> Estimate:
    """Estimate a metric from complete blocks, with the gain over independent trials.

    Blocks are the clusters of pooled estimates; for per-trial estimates, each block contributes the mean of its trials.

    Parameters
    ----------
    blocks
        The samples of each trial of each block.
    trials
        Number of trials, including those of incomplete blocks.
    """
    each = [trial for block in blocks for trial in block]
    pooled = estimand == "pooled"
    if len(blocks) < 2:
        found = estimate(metric, estimand, each, confidence)
        why = f"{len(blocks)} whole blocks of {SOBOL_BLOCK} trials: an interval takes two or more, of trials that all gave values"
        return dataclasses.replace(found, estimate=None, low=None, high=None, note=why)
    units = (
        [np.concatenate(block) for block in blocks]
        if pooled
        else [
            np.array([sum(trial_value(metric, trial) for trial in block) / SOBOL_BLOCK]) for block in blocks
        ]
    )
    found = estimate(metric, estimand, units, confidence)
    values = st.pooled_influence(each, metric.percentile) if pooled else trial_values(metric, each)
    left = trials - len(each)
    note = gain_text(len(blocks), st.block_gain(values, SOBOL_BLOCK)) + (
        f"; {counted(left, 'trial of an incomplete block is', 'trials of incomplete blocks are')} left out"
        if left
        else ""
    )
    return dataclasses.replace(
        found, trials=len(each), samples=sum(map(len, each)), design_effect=None, note=note
    )
