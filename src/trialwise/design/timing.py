"""Compute how long an experiment takes from how long its trials take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise.design.sizing import Sizing
from trialwise.design.treatments import treatments
from trialwise.experiment.model import Experiment


@dataclass(frozen=True, slots=True)
class TrialTimes:
    """Seconds that one trial of each treatment takes, and that a round takes besides its trials (resets).

    `origin` says where they come from: `[trial] runtime` of the file, or trials that were run.
    """

    seconds: Mapping[str, float]
    beside: float
    origin: Literal["runtime", "pilot"]

    @property
    def round_seconds(self) -> float:
        """Seconds that a round takes."""
        return sum(self.seconds.values()) + self.beside


def stated_times(experiment: Experiment) -> TrialTimes | None:
    """Return the times stated in the experiment file; None if it states none, or only simulated ones."""
    if experiment.runtime is None or experiment.trial.traits.simulates_runtime:
        return None
    names = [treatment.name for treatment in treatments(experiment)]
    reset = experiment.reset
    resets = 0 if reset is None or reset.every == "series" else len(names) if reset.every == "trial" else 1
    settling = 0.0 if reset is None else resets * reset.settle
    return TrialTimes(dict.fromkeys(names, experiment.runtime), settling, "runtime")


def how_to_know(experiment: Experiment) -> str:
    """Say how to find out how long trials take, if that is unknown."""
    pilot = "run a pilot with --pilot"
    return pilot if experiment.trial.traits.computed else f'write runtime = "10s" into [trial], or {pilot}'


def series_seconds(experiment: Experiment, rounds: int, times: TrialTimes) -> float:
    """Return the seconds of a series of `rounds` rounds, including warm-up rounds: at least its span."""
    return max(work_seconds(experiment, rounds, times), experiment.design.span or 0.0)


def work_seconds(experiment: Experiment, rounds: int, times: TrialTimes) -> float:
    """Return the seconds of the rounds of a series alone, including warm-up rounds."""
    return (experiment.design.warmup_trials + rounds) * times.round_seconds


def total_seconds(experiment: Experiment, sizing: Sizing, times: TrialTimes) -> float:
    """Return the seconds of the whole experiment."""
    return sizing.series * series_seconds(experiment, sizing.rounds, times)
