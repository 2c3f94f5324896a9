"""When to stop before the plan is used up: rules are objects that the caller hands to the runner."""

from __future__ import annotations

from typing import Protocol

from trialwise.store.records import TrialRow


class StoppingRule(Protocol):
    """A rule that is asked before each round.

    A rule that decides by results is an observer too (`events.Observer`): it is told `TrialRecalled` for what earlier sessions
    finished, then `TrialEnded` for each trial.
    """

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:
        """Why the round of `upcoming` need not be run, or None."""
        ...


class RunThePlan:
    """The rule of fixed sizes: never stop before the plan is used up."""

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:  # noqa: ARG002
        """Return None: the plan decides."""
        return None
