"""How a trial is executed: nothing runs, a number is computed."""

from __future__ import annotations

import time

import numpy as np
from constant.file import ConstantTrial, total

from trialwise.experiment.placeholders import fill
from trialwise.experiment.traits import assumed
from trialwise.measurement.samples import Samples
from trialwise.trials.base import ComputedKind, Task, TrialOutcome


class ConstantKind(ComputedKind):
    """Computes the sum."""

    def compute(self, task: Task) -> TrialOutcome:
        started = time.time()
        trial = assumed(task.experiment.trial, ConstantTrial)
        number = total(fill(trial.number, task.places))
        values = {"constant:number": number, "constant:square": number**2}
        samples = {key: Samples(np.array([value])) for key, value in values.items()}
        return TrialOutcome("finished", started, time.time(), samples=samples)
