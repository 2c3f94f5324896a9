"""What a comparison of two versions says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.analysis.comparison.results import Comparison

Outcome = Literal["fine", "worse", "undecided"]
Stage = Literal["all", "pilot", "fresh"]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the pilot asks for: fresh trials of each version, None where no number that is run would do, and how long they take."""

    trials: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class VersionsResult:
    """Head against base.

    `stage` says which trials were judged: "all" of a number set before, or the "pilot", or the "fresh" ones after it; both
    looks share the error of `confidence` percent. `outcomes` are those of the comparison's rows, in their order; `ending` says
    why no more trials ran, and `complete` whether the plan of looks came to its end. `failed` trials have no value.
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
