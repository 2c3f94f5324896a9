"""How two experiments, or an experiment and a machine, differ: plan and program, machine, state, results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialwise.analysis.comparison.results import Word
from trialwise.analysis.environments import EnvironmentDifference, Facts, differences
from trialwise.analysis.influences import FIRST, Study


@dataclass(frozen=True, slots=True)
class Side:
    """One side: what its machines and programs are, and its plan; a machine by itself has none."""

    name: str
    environments: tuple[Facts, ...]
    plan: Facts | None
    study: Study


@dataclass(frozen=True, slots=True)
class ResultsDiff:
    """What the comparison of the results says: rows by verdict; none, and why, if they cannot be compared."""

    verdicts: Mapping[Word, int]
    refusal: str | None


@dataclass(frozen=True, slots=True)
class Diff:
    """Differences between the sides, those that matter most first; `unknown` are facts that only one side recorded."""

    a: str
    b: str
    study: Study
    differences: tuple[EnvironmentDifference, ...]
    unknown: tuple[EnvironmentDifference, ...]
    results: ResultsDiff

    @property
    def first(self) -> tuple[EnvironmentDifference, ...]:
        """The differences of ranks 1 to 3."""
        return tuple(one for one in self.differences if one.rank <= FIRST)

    @property
    def rest(self) -> tuple[EnvironmentDifference, ...]:
        """The differences of the other ranks."""
        return tuple(one for one in self.differences if one.rank > FIRST)


def diff(a: Side, b: Side, results: ResultsDiff) -> Diff:
    """Return how side b differs from side a. A plan is compared where both have one."""
    study = a.study if a.study == b.study else "measured"
    found = differences(_facts(a, b), _facts(b, a), study)
    return Diff(
        a=a.name,
        b=b.name,
        study=study,
        differences=tuple(one for one in found if one.known),
        unknown=tuple(one for one in found if not one.known),
        results=results,
    )


def _facts(side: Side, other: Side) -> Sequence[Facts]:
    plan: Facts = side.plan if side.plan is not None and other.plan is not None else {}
    return [{**plan, **facts} for facts in side.environments] or [plan]
