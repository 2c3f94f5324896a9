"""Treatments: the combinations of the levels of the fixed factors."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import level_text


@dataclass(frozen=True, slots=True)
class Treatment:
    """One combination of levels; `levels` holds (factor, level) in the order of the file."""

    levels: tuple[tuple[str, Level], ...]

    @property
    def name(self) -> str:
        """How the treatment is called everywhere: `factor=level factor=level`; `-` without factors."""
        return " ".join(f"{factor}={level_text(level)}" for factor, level in self.levels) or "-"


def treatments(experiment: Experiment) -> tuple[Treatment, ...]:
    """All combinations of levels, the last factor running fastest."""
    choices = [[(factor.name, level) for level in factor.levels] for factor in experiment.fixed_factors]
    return tuple(Treatment(levels) for levels in itertools.product(*choices))
