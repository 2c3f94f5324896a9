"""Records of a comparison of two versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise.analysis.comparison.results import Comparison
from trialwise.analysis.versions.course import Course
from trialwise.analysis.versions.reach import Reach
from trialwise.experiment.model import Extent

Outcome = Literal["fine", "worse", "undecided"]
Stage = Literal["all", "pilot", "fresh"]
DEFAULT_PLACE = "ab.results"
"""The folder that holds the directories of pairs, unless another is named."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast from the pilot: fresh trials of each version, None if no feasible number would do, and their duration."""

    trials: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class VersionsResult:
    """The comparison of head with base, or of each of several versions with the first.

    `stage` says which trials were judged: "all" of a fixed number, the "pilot", or the "fresh" ones after it; both looks share the
    error probability of `confidence` percent. `outcomes` are those of the comparison's rows, in order; `ending` says why no more
    trials ran, and `complete` whether the plan of looks was completed. `failed` trials have no value. `commands` are those of the
    versions where these are known by nothing else, the first one first; rows are named as in `versions`. `courses` are of all
    trials, by metric, and `budget` (in seconds) was allowed.
    """

    outcome: Outcome
    outcomes: tuple[Outcome, ...]
    stage: Stage
    pilot: int
    forecast: Forecast | None
    comparison: Comparison | None
    confidence: float
    ending: str
    complete: bool
    failed: int
    directory: str
    method: str
    versions: tuple[str, ...] = ("base", "head")
    commands: tuple[str, ...] = ()
    courses: tuple[Course, ...] = ()
    budget: float | None = None


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """The comparison of head with base by a whole suite, one row a benchmark and metric.

    `outcomes` and `stages` are those of the comparison's rows, in order: which trials judged each row. `crossed` are the metrics
    that the pilot found worse and that fresh trials had to confirm. `rounds` are those of the first look and fresh ones. `wanted` is
    the number of fresh rounds that the pilot asked for, and `reach` what was expected of them; None if nothing was left open, or the
    margin is no share. `not_comparable` says of metrics without a row in which units the versions
    have them. `ending`, `complete` and `failed` are as for two versions.
    """

    outcome: Outcome
    outcomes: tuple[Outcome, ...]
    stages: tuple[Stage, ...]
    crossed: tuple[str, ...]
    rounds: tuple[int, int]
    wanted: int
    reach: Reach | None
    not_comparable: Mapping[str, str]
    comparison: Comparison | None
    confidence: float
    margin: Extent
    ending: str
    complete: bool
    failed: int
    directory: str
    method: str
