"""The name of a worker, and its address."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trialwise.errors import PlanError
from trialwise.experiment.machine_names import HOW_TO_NAME, LOCAL, machine_named
from trialwise.experiment.model import Experiment, Workers


@dataclass(frozen=True, slots=True)
class Address:
    """A worker: this machine (`host` None), or one that ssh reaches. `name` is its name in the ledger."""

    name: str
    host: str | None = None
    user: str | None = None
    port: int | None = None

    @property
    def is_local(self) -> bool:
        """Whether this is the machine that we run on."""
        return self.host is None


def addresses(names: Iterable[str]) -> tuple[Address, ...]:
    """Parse the names of workers.

    Raises
    ------
    PlanError
        A name has no known form, or occurs twice.
    """
    found: list[Address] = []
    for name in names:
        address = _address(name.strip())
        if address in found:
            raise PlanError(f"workers: {address.name} is given twice", hint="name every worker once")
        found.append(address)
    return tuple(found)


def is_alone(workers: Workers) -> bool:
    """Return True if this machine is the only worker."""
    return workers.allocate is None and workers.use == (LOCAL,)


def runs_here(workers: Workers) -> bool:
    """Return True if this machine is among the workers."""
    return workers.allocate is None and LOCAL in workers.use


def with_workers(experiment: Experiment, names: Sequence[str]) -> Experiment:
    """Return the experiment with workers other than the file's, which need no allocation."""
    named = dataclasses.replace(experiment.workers, use=tuple(names), allocate=None, release=None)
    return dataclasses.replace(experiment, workers=named)


def split_names(texts: Sequence[str]) -> list[str]:
    """Split the names in options such as ``local,ssh://user@host``."""
    return [name for text in texts for name in text.split(",") if name.strip()]


def _address(text: str) -> Address:
    named = machine_named(text)
    if named is None:
        raise PlanError(f"workers: {text!r} is not a valid worker", hint=HOW_TO_NAME)
    return Address(text.rstrip("/"), *named)
