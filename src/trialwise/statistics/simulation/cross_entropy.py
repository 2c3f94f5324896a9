"""CCEval's search for a tilted lognormal distribution of sizes: adaptive cross-entropy, as printed and with weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TypeAlias

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import as_percent
from trialwise.statistics.simulation.importance import weighted_tail_quantile
from trialwise.statistics.sizing.switching import Cycle, LognormalTilt, Simulate, SwitchingSampler, run_cycle

EPOCHS = 10
CYCLES = 10
_MIN_TAIL = 1000


@dataclass(frozen=True, slots=True)
class CrossEntropy:
    """A tilt, and the steps that led to it."""

    tilt: LognormalTilt
    threshold: float
    """γ_max."""
    history: tuple[tuple[float, float, float], ...]
    """After each epoch, the tilted mean and standard deviation of ln S, and γ_max."""
    tail_flows: int
    """Number of responses above γ_max in the last epoch, the basis of the last step."""
    warning: str
    method: str


def cross_entropy_update(
    cycles: Sequence[Cycle], threshold: float, *, weighted: bool
) -> tuple[float, float] | None:
    """Perform one step: Eq. 16 and 17 from the cycles of one epoch.

    μ~ = Σ H ΣlnS / Σ H N, and σ~² likewise, over cycles with H responses at or above the threshold and N sizes of the tilted phase.
    As printed, H is a count although the cycles come from the tilted distribution; if `weighted`, each response counts by its
    likelihood ratio, as the maximised expectation (Eq. 14) requires.

    Returns
    -------
    tuple or None
        Mean and standard deviation of ln S; None if no cycle has such a response.
    """
    tails = np.array(
        [
            float(
                (cycle.weights if weighted else np.ones_like(cycle.weights))[
                    cycle.responses >= threshold
                ].sum()
            )
            for cycle in cycles
        ]
    )
    numbers = np.array([cycle.coordinates.size for cycle in cycles])
    total = float(tails @ numbers)
    if total <= 0:
        return None
    mu = float(tails @ np.array([cycle.coordinates.sum() for cycle in cycles])) / total
    squares = np.array([np.sum((cycle.coordinates - mu) ** 2) for cycle in cycles])
    return mu, sqrt(float(tails @ squares) / total)


def adaptive_cross_entropy(
    simulate: Simulate,
    sizes: tuple[float, float],
    rate: float,
    percentile: float,
    mean_flows: float,
    random: np.random.Generator,
    *,
    epochs: int = EPOCHS,
    cycles: int = CYCLES,
    weighted: bool = False,
    smoothing: float = 1.0,
) -> CrossEntropy:
    """Run CCEval's Algorithm 1.

    Ten epochs of ten cycles have about four tail responses each, so the outcome is largely chance. On a processor-sharing bottleneck
    the tilt as printed multiplies the variance by a hundred, the weighted one by two; a free surrogate can afford a thousand tail
    responses per epoch.

    Parameters
    ----------
    simulate
        Simulates one trial; see `Simulate`.
    sizes
        Mean and standard deviation of ln S.
    rate
        Arrivals per unit of time.
    percentile
        In percent.
    mean_flows
        E[α], λT for Poisson arrivals.
    random
        Random generator.
    epochs, cycles
        E and m_ce.
    weighted
        Weight responses by their likelihood ratio (not as printed).
    smoothing
        Fraction of each step that is applied, above 0, at most 1 (1 as printed).

    Raises
    ------
    StatisticsError
        An option is out of range, or an epoch's weights yield no quantile.
    """
    return cross_entropy_search(
        lambda tilt, threshold: run_cycle(
            simulate, SwitchingSampler(tilt, rate, random, threshold=threshold)
        ),
        sizes,
        percentile,
        mean_flows,
        epochs=epochs,
        cycles=cycles,
        weighted=weighted,
        smoothing=smoothing,
    )


Draw: TypeAlias = Callable[[LognormalTilt, float], Cycle]
"""Simulates one trial with tilted sizes until a response above the threshold, with its own randomness."""


def cross_entropy_search(
    draw: Draw,
    sizes: tuple[float, float],
    percentile: float,
    mean_flows: float,
    *,
    epochs: int = EPOCHS,
    cycles: int = CYCLES,
    weighted: bool = False,
    smoothing: float = 1.0,
) -> CrossEntropy:
    """Run CCEval's Algorithm 1 for a simulator that draws its sizes itself; parameters and errors as in `adaptive_cross_entropy`."""
    as_percent(percentile, "percentile")
    if epochs < 1 or cycles < 1 or not 0 < smoothing <= 1:
        raise StatisticsError(
            "epochs and cycles are whole numbers from 1, the smoothing lies above 0 and is at most 1"
        )
    mu, sigma = sizes
    tilted, threshold = (mu, sigma), 0.0
    history: list[tuple[float, float, float]] = []
    drawn: list[Cycle] = []
    for _ in range(epochs):
        tilt = LognormalTilt(mu, sigma, *tilted)
        drawn = [draw(tilt, threshold) for _ in range(cycles)]
        step = cross_entropy_update(drawn, threshold, weighted=weighted) or tilted
        tilted = (
            tilted[0] + smoothing * (step[0] - tilted[0]),
            tilted[1] + smoothing * (step[1] - tilted[1]),
        )
        threshold = _quantile(drawn, percentile, mean_flows)
        history.append((*tilted, threshold))
    tail = sum(int((cycle.responses >= threshold).sum()) for cycle in drawn)
    return CrossEntropy(
        tilt=LognormalTilt(mu, sigma, *tilted),
        threshold=threshold,
        history=tuple(history),
        tail_flows=tail,
        warning=""
        if tail >= _MIN_TAIL and weighted
        else f"the last step rests on {tail} responses of the tail, but a thousand are needed"
        + ("" if weighted else "; as printed they are not weighted, which drifts upwards in every epoch"),
        method=f"adaptive cross-entropy, {epochs} epochs of {cycles} cycles, {'weighted' if weighted else 'as printed'}",
    )


def _quantile(cycles: Sequence[Cycle], percentile: float, mean_flows: float) -> float:
    responses = np.concatenate([cycle.responses for cycle in cycles])
    weights = np.concatenate([cycle.weights for cycle in cycles])
    return weighted_tail_quantile(responses, weights, percentile, len(cycles) * mean_flows)
