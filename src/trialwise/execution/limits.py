"""Limits of one run that are no rule of the experiment."""

from __future__ import annotations

from trialwise.execution.stopping import StoppingRule
from trialwise.numbers import counted
from trialwise.store.records import TrialRow


class SomeRounds:
    """A rule that ends a run after a number of rounds, unless the rule of the experiment ends it before.

    A round that an earlier run began counts, and so do warm-up trials with the first round of their series. Several workers
    count together: each runs the same rounds.
    """

    def __init__(self, rule: StoppingRule, rounds: int) -> None:
        self._rule = rule
        self._rounds = rounds
        self._begun: set[tuple[int, int]] = set()

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:
        """Return why the round of `upcoming` is not to run, or None."""
        if reason := self._rule.reason_to_stop(upcoming):
            return reason
        if upcoming.warmup:
            return self._full
        place = (upcoming.series, upcoming.round)
        if place not in self._begun and (reason := self._full):
            return reason
        self._begun.add(place)
        return None

    @property
    def _full(self) -> str | None:
        if len(self._begun) < self._rounds:
            return None
        return f"{counted(self._rounds, 'round')} asked for; the rest stays planned"
