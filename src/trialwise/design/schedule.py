"""When the rounds of a series start."""

from __future__ import annotations

import numpy as np

from trialwise.design.seeds import generator
from trialwise.experiment.model import Experiment


def round_starts(experiment: Experiment, series: int, rounds: int) -> list[float | None]:
    """Start times of the rounds of a series in seconds after the start of the experiment.

    With a span the rounds start at independent uniform times, sorted (TriScale, section 4.6: "randomly sample the
    entire span of a series"), the first series in the first span, the second in the second. Without a span: None,
    back to back.
    """
    span = experiment.design.span
    if span is None:
        return [None] * rounds
    times = generator(experiment.seed, "start", series).uniform(0.0, span, rounds)
    return [float(time) for time in (series - 1) * span + np.sort(times)]
