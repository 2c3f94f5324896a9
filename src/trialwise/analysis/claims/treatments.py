"""Which treatments, trials and numbers a claim means."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.nesting import highest_that_varies, nested_means
from trialwise.analysis.trial_set import PRINTED, MetricFacts, TrialSet
from trialwise.analysis.trial_set import Level as Unit
from trialwise.arrays import Array
from trialwise.errors import AnalysisError
from trialwise.experiment.claims import (
    Amount,
    StatedBest,
    StatedClaim,
    StatedDifference,
    StatedEquivalence,
    StatedEvery,
    StatedIdentity,
    StatedRanking,
)
from trialwise.experiment.model import Level
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.problems import nearest
from trialwise.late import pl
from trialwise.numbers import as_given, first_of
from trialwise.readers.units import normalised

_NAMED = 8


def facts_of(trials: TrialSet, metric: str) -> MetricFacts:
    """Return the facts on a metric.

    Raises
    ------
    AnalysisError
        There is none of this name.
    """
    if metric not in trials.metrics:
        meant = nearest(metric, trials.metrics)
        did = f"; did you mean {meant!r}?" if meant else ""
        raise AnalysisError(
            f"{trials.name}: no metric {metric!r}{did}",
            hint=f"there are: {first_of(list(trials.metrics), _NAMED)}",
        )
    return trials.metrics[metric]


def treatment_of(trials: TrialSet, levels: Mapping[str, Level]) -> str:
    """Return the one treatment that has these levels.

    Raises
    ------
    AnalysisError
        None has them, or several have.
    """
    found = treatments_of(trials, levels)
    if len(found) > 1:
        raise AnalysisError(
            f"{treatment_name(levels)} is {len(found)} treatments: {first_of(found, _NAMED)}",
            hint="name levels of more factors",
        )
    return found[0]


def treatments_of(trials: TrialSet, levels: Mapping[str, Level]) -> list[str]:
    """Return the treatments that have these levels; all if none is given.

    Raises
    ------
    AnalysisError
        None has them.
    """
    found = [
        name
        for name, own in trials.treatments.items()
        if all(
            factor in own and level_text(own[factor]) == level_text(level) for factor, level in levels.items()
        )
    ]
    if not found:
        raise AnalysisError(
            f"{trials.name}: no treatment has {treatment_name(levels)}",
            hint=f"there are: {first_of(list(trials.treatments), _NAMED)}",
        )
    return found


def claimed_treatments(trials: TrialSet, claim: StatedClaim) -> list[str]:
    """Return the treatments whose trials a claim rests on.

    Raises
    ------
    AnalysisError
        One does not exist.
    """
    said = claim.said
    if isinstance(said, StatedDifference | StatedEquivalence):
        return [treatment_of(trials, said.of), treatment_of(trials, said.to)]
    if isinstance(said, StatedRanking):
        return [treatment_of(trials, {**said.where, said.over: level}) for level in said.order]
    if isinstance(said, StatedBest | StatedEvery | StatedIdentity):
        return treatments_of(trials, said.where)
    return [treatment_of(trials, said.treatment)]


def claimed_metrics(trials: TrialSet, claim: StatedClaim) -> list[str]:
    """Return the metrics whose numbers a claim rests on.

    Raises
    ------
    AnalysisError
        One does not exist.
    """
    said = claim.identical
    if said is None:
        return [facts_of(trials, claim.metric).name]
    if said.metrics == "all" or (said.metrics is None and not said.written):
        return list(trials.metrics)
    return [facts_of(trials, name).name for name in said.metrics or ()]


def side_of(trials: TrialSet, metric: str, treatment: str) -> pl.DataFrame:
    """Return the trials of a metric of one treatment.

    Raises
    ------
    AnalysisError
        None of them has a value, or they are printed summaries.
    """
    found = trials.of(metric, treatment)
    if found.is_empty():
        raise AnalysisError(
            f"{trials.name}: no trial of {treatment} that is compared has a value of {metric}"
        )
    if PRINTED in found.columns:
        raise AnalysisError(
            f"{trials.name}: holds printed summaries",
            hint="claims are checked on trials: name the files that hold them",
        )
    return found


def units_of(side: pl.DataFrame) -> tuple[Array, Unit]:
    """Return the values of one treatment at the highest level that varies, and that level."""
    level = highest_that_varies(side)
    return np.asarray(nested_means(side, level)["value"].to_numpy(), dtype=np.float64), level


def in_unit(amount: Amount | None, unit: str) -> float | None:
    """Return an amount in a unit; None if there is no amount.

    Raises
    ------
    AnalysisError
        The amount is in a unit of another kind.
    """
    if amount is None or not amount.unit or amount.unit == unit:
        return None if amount is None else amount.value
    value, own = normalised(amount.value, amount.unit)
    one, base = normalised(1.0, unit)
    if own != base or not one:
        raise AnalysisError(
            f"{as_given(amount.value)} {amount.unit} is no number in {unit or 'a metric without a unit'}",
            hint=f"write it in {unit}" if unit else "write it without a unit",
        )
    return value / one
