"""What is known of each claim that an experiment waits for: frozen records, which screens, files for machines and tests read alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.experiment.model import Looks
from trialwise.statistics.comparing.verdicts import Verdict

ClaimKind = Literal["metric", "kpi", "variability", "difference"]
Known = Literal["open", "decided", "undecided"]
Phase = Literal["pilot", "fresh", "looking", "judged"]


@dataclass(frozen=True, slots=True)
class ClaimState:
    """One thing that is to be known, and how far that is.

    `state` is open while it is not judged: nothing is told then, since who looks may stop at a lucky moment. The bounds are at
    `confidence` percent; `width` is half of what lies between them and `target` the half-width asked for (of a difference: the
    margin), all in `unit`. `n` are the units of `level` that were judged, of each side; `wanted` how many the forecast asks for,
    null where there is none, and `wanted_low` to `wanted_high` its 95 % interval. `estimand` is per_trial or pooled, `convention`
    that of a percentile of samples, and `looks` how often a rule has looked that looks more than once. `controls` are control
    variates where the claim is looked at with them: `gain` is then what they take the variance down by, and of both intervals
    `low` and `high` is the one that is to be used.
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
    """What a look says."""

    phase: Phase
    claims: tuple[ClaimState, ...]
    forecast: int | None = None
    correction: str = ""
    out_of_reach: bool = False


@dataclass(frozen=True, slots=True)
class StoppingState:
    """Whether an experiment has enough.

    `reason` says why it ends, null while it goes on; `decided` whether every claim is. `rounds` have run to their end of `most`,
    and `forecast` is how many it will be, null while nobody knows. `seconds` is the time used, of `budget` where there is one.
    `out_of_reach` says that a claim would take far more than `most`, for which it ends before any more runs.
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
        """Those that are not decided."""
        return tuple(claim for claim in self.claims if claim.state != "decided")
