"""Why a run ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.ledger_facts import excluded_text
from trialwise.store.records import Amendment, Blocks

EndingReason = Literal[
    "complete",
    "interrupted",
    "paused",
    "stopped",
    "cap reached",
    "reset failed",
    "service failed",
    "worker lost",
]


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the runner stopped; "stopped" means by the rule, or because a subset was requested: `text` says which."""

    reason: EndingReason
    text: str


STOPPED_ON_REQUEST = Ending("interrupted", "stopped on request; run again to go on")


def plan_used_up(ledger: Ledger, blocks: Blocks | None = None) -> Ending:
    """Return the ending when nothing is left of the requested trials in `blocks` (default all)."""
    if left := ledger.count(["planned"], blocks=blocks):
        return Ending("stopped", f"every trial asked for has come to an end; {left} stay planned")
    if skipped := ledger.count(["skipped"], blocks=blocks):
        return Ending(
            "complete",
            f"every planned trial has come to an end; {skipped} of skipped treatments have not run",
        )
    return Ending("complete", "every planned trial has come to an end")


def departed(ledger: Ledger, worker: str, blocks: Blocks | None) -> Ending:
    """Return the ending of a worker that has left, with what stays planned in its blocks."""
    left = ledger.count(["planned", "running"], blocks=blocks)
    return Ending(
        "stopped",
        f"{worker} has left; {left} of its trials stay planned until another worker takes them over",
    )


def paused(request: Amendment, directory: ExperimentDirectory) -> Ending:
    """Return the ending on the request to pause."""
    return Ending(
        "paused", f"{excluded_text(request).rstrip(': ')}; `trialwise run {directory.path}` goes on"
    )
