"""Which trials are those of an experiment whose file has changed since they were planned."""

from __future__ import annotations

from collections.abc import Mapping

from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import level_text


def is_of(experiment: Experiment, factors: Mapping[str, Level]) -> bool:
    """Return True where a trial's levels are those of a treatment of the experiment: none that was dropped from its file."""
    return all(
        level_text(factors[factor.name]) in {level_text(level) for level in factor.levels}
        for factor in experiment.fixed_factors
        if factor.name in factors
    )
