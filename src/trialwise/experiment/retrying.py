"""Key `retry` of trials: which attempts are followed by another, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from trialwise.experiment.file.sections import Key, Limits, Section, key
from trialwise.experiment.file.values import without_doubles

RetryCause = Literal["failed", "invalid", "timeout", "service", "lost"]
"""What became of an attempt: its status, or the cause of one."""


@dataclass(frozen=True, slots=True)
class Retry(Section):
    """Which attempts at a trial are followed by another one, at once; every attempt stays in the ledger."""

    on: Annotated[tuple[RetryCause, ...], without_doubles(RetryCause, min_length=1)] = key(
        ...,
        "What is tried again: trials that failed, trials that are invalid; or of failed ones only those that took longer than their "
        "timeout or were lost with their worker too often, of invalid ones only those whose service died.",
        ["timeout", "lost"],
        missing='name what is tried again, as in on = ["timeout", "lost"]',
        stand_in=["failed"],
    )
    times: Annotated[int, Limits(ge=1, le=100)] = key(2, "Further attempts at a trial at most.", 3)

    @property
    def text(self) -> str:
        """Describe the rule in a few words."""
        return f"{', '.join(self.on)}, {self.times} times"


RETRY = Key(
    words="Attempts that are followed by another one at once: what they ended with, and how many follow at most.",
    examples=({"on": ["lost", "timeout"], "times": 2},),
)
