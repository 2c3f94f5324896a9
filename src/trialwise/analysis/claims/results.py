"""Frozen records of checked claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.analysis.trial_set import Level

Verdict = Literal["supported", "undecided", "contradicted"]


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """One claim and what the data say of it.

    `subject` names what is estimated, in `unit`. The claim says that it lies from `at_least` to `at_most` (None: no bound), in
    `bound_unit`, which differs for claims on every trial: of these, the estimate is the share outside of the bounds. The interval
    has `confidence` (percent) in all; each of its bounds holds at the `level` of the claim (percent). `n` counts units of
    `replication` of each side. `reason` says what prevents a verdict, and `more` about how many further units on each side would
    give one, None if that is not known or nothing is needed.
    """

    id: str
    text: str
    kind: str
    data: str
    metric: str
    subject: str
    verdict: Verdict
    unit: str
    bound_unit: str
    at_least: float | None
    at_most: float | None
    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    level: float
    n: tuple[int, ...]
    replication: Level
    method: str
    reason: str
    more: int | None
    tolerance: str
    figure: str


@dataclass(frozen=True, slots=True)
class ClaimsCheck:
    """All claims of a file; `notes` are those on the data."""

    file: str
    claims: tuple[ClaimResult, ...]
    notes: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """Contradicted if any claim is, else undecided if any is."""
        found = {claim.verdict for claim in self.claims}
        return (
            "contradicted"
            if "contradicted" in found
            else "undecided"
            if "undecided" in found
            else "supported"
        )
