"""Records of a comparison of two versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.analysis.comparison.results import Comparison

Outcome = Literal["fine", "worse", "undecided"]
Stage = Literal["all", "pilot", "fresh"]


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast from the pilot: fresh trials of each version, None if no feasible number would do, and their duration."""

    trials: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class VersionsResult:
    """The comparison of head with base.

    `stage` says which trials were judged: "all" of a fixed number, the "pilot", or the "fresh" ones after it; both looks share the
    error probability of `confidence` percent. `outcomes` are those of the comparison's rows, in order; `ending` says why no more
    trials ran, and `complete` whether the plan of looks was completed. `failed` trials have no value.
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
