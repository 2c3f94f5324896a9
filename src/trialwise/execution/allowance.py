"""How much trials over real paths may send: what whoever starts a run allows, beside the caps that the experiment file gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow

TOTAL = 10e9
"""Bytes that both ends of all trials of an experiment may send together, unless more is allowed."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a run may send over real paths: at most `rate` bit/s in a trial (None: as the file says), and `total` bytes in all."""

    rate: float | None = None
    total: float = TOTAL


def allowance(rate: str | None, size: str | None) -> Allowance:
    """Return what `--allow-rate` and `--allow-bytes` allow.

    Raises
    ------
    PlanError
        A text is no rate, or no size, above 0.
    """
    total = None if size is None else _amount(size, "size", "--allow-bytes", "50GB")
    return Allowance(
        None if rate is None else _amount(rate, "rate", "--allow-rate", "1Gbit/s"),
        TOTAL if total is None else total,
    )


def _amount(text: str, dimension: Literal["rate", "size"], option: str, example: str) -> float:
    try:
        found = _core.parse_quantity(text, dimension)
    except ValueError as error:
        raise PlanError(f"{option}: {error}", hint=f"write it as in {option} {example}") from error
    if found <= 0:
        raise PlanError(f"{option}: {text!r} allows nothing", hint=f"write it as in {option} {example}")
    return found


class Budget(Protocol):
    """Knows from the ledger what trials have sent, and from the experiment what they may send."""

    def announcement(self, rows: Iterable[TrialRow]) -> str | None:
        """Say what these trials, which are to run, send at most; None if they send nothing over a real path."""
        ...

    def reason_to_stop(self, row: TrialRow) -> str | None:
        """Return why a trial may not send any more; None if it may."""
        ...


@runtime_checkable
class Budgeted(Protocol):
    """A kind of trial that sends over paths that others use too."""

    def allow(self, allowed: Allowance) -> None:
        """Take note of what is allowed, before anything is checked."""
        ...

    def budget(self, experiment: Experiment, ledger: Ledger) -> Budget:
        """Return the budget of an experiment that has begun."""
        ...
