"""Frozen records of the claims that an experiment waits for, read by screens, files for machines and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.experiment.model import Looks
from trialwise.statistics.comparing.verdict import Verdict

ClaimKind = Literal["metric", "kpi", "variability", "difference"]
Known = Literal["open", "decided", "undecided"]
Phase = Literal["pilot", "fresh", "looking", "judged"]


@dataclass(frozen=True, slots=True)
class ClaimState:
    """A claim, and its progress.

    `state` is open until it is judged: nothing is shown until then, because a look could stop at a lucky moment. The bounds are at
    `confidence` percent; `width` is their half-width and `target` the desired half-width (for a difference: the margin), all in
    `unit`. `n` are the units of `level` that were judged, of each side; `wanted` the number that the forecast requires, null if
    there is none, and `wanted_low` to `wanted_high` its 95 % interval. `estimand` is per_trial or pooled, `convention` that of a
    percentile of samples, and `looks` the number of looks of a rule that looks repeatedly. `controls` are the control variates of
    the claim, if any: `gain` is then the factor by which they reduce the variance, and `low` and `high` bound the interval to use.
    """

    kind: ClaimKind
    metric: str
    unit: str
    subject: str
    what: str
    asked: str
    state: Known
    verdict: Verdict | None
    estimate: float | None
    low: float | None
    high: float | None
    width: float | None
    target: float | None
    n: tuple[int, ...]
    wanted: int | None
    level: str
    confidence: float
    method: str
    note: str
    estimand: str = ""
    convention: str = ""
    looks: int = 0
    wanted_low: int | None = None
    wanted_high: int | None = None
    controls: str = ""
    gain: float | None = None
    plain_low: float | None = None
    plain_high: float | None = None
    controlled_low: float | None = None
    controlled_high: float | None = None


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The outcome of a look."""

    phase: Phase
    claims: tuple[ClaimState, ...]
    forecast: int | None = None
    correction: str = ""
    out_of_reach: bool = False


@dataclass(frozen=True, slots=True)
class StoppingState:
    """The stopping state of an experiment.

    `reason` says why it ends, null while it continues; `decided` whether every claim is decided. `rounds` of `most` are complete,
    and `forecast` is their expected number, null while unknown. `seconds` is the time used, of `budget` if there is one.
    `out_of_reach` says that a claim would need far more than `most`, so that the experiment ends early.
    """

    looks: Looks
    phase: Phase
    decided: bool
    reason: str | None
    rounds: int
    forecast: int | None
    most: int
    seconds: float
    budget: float | None
    correction: str
    claims: tuple[ClaimState, ...]
    warnings: tuple[str, ...]
    out_of_reach: bool = False

    @property
    def open_claims(self) -> tuple[ClaimState, ...]:
        """The undecided claims."""
        return tuple(claim for claim in self.claims if claim.state != "decided")
