"""Decide which attempts at trials are followed by another one."""

from __future__ import annotations

from trialwise.experiment.retrying import Retry
from trialwise.trials.base import TrialOutcome


def is_retried(rule: Retry | None, outcome: TrialOutcome, before: int) -> bool:
    """Return True if the trial is tried again, given how many attempts `before` this one failed or were invalid.

    An attempt that was abandoned is run again whatever the rule says, and does not count.
    """
    if rule is None or outcome.status not in ("failed", "invalid"):
        return False
    return before < rule.times and (outcome.status in rule.on or outcome.cause in rule.on)
