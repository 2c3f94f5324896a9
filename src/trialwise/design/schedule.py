"""When the rounds of a series start."""

from __future__ import annotations

import numpy as np

from trialwise.design.seeds import generator
from trialwise.design.timing import stated_times
from trialwise.experiment.model import Experiment


def round_starts(experiment: Experiment, series: int, rounds: int) -> list[float | None]:
    """Return the start times of a series' rounds in seconds after the start of the experiment.

    With a span the rounds start at random times in it (TriScale, section 4.6: "randomly sample the entire span of a
    series"), the first series in the first span, the second in the second. If `[trial] runtime` says how long a
    round takes, no two overlap: the remaining time is divided at random before, between and after them.
    The first start is that of the warm-up rounds, if there are any. Without a span: None, back to back.
    """
    span = experiment.design.span
    if span is None:
        return [None] * rounds
    times = stated_times(experiment)
    taken = busy_before(
        rounds, experiment.design.warmup_trials, 0.0 if times is None else times.round_seconds
    )
    free = max(0.0, span - taken[-1])
    gaps = np.sort(generator(experiment.seed, "start", series).uniform(0.0, free, rounds))
    return [float(start) for start in (series - 1) * span + gaps + taken[:-1]]


def busy_before(
    rounds: int, warmup_rounds: int, round_seconds: float
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the seconds of work before the start of each round, and of all rounds; warm-up rounds precede the first."""
    busy = np.arange(rounds + 1, dtype=np.float64)
    busy[1:] += warmup_rounds
    return busy * round_seconds
