"""The name of a worker, and its address."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment, Workers

LOCAL = "local"
_SSH = re.compile(
    r"ssh://(?:(?P<user>[^@/\s:]+)@)?(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[^@/\s:\[\]]+)(?::(?P<port>\d+))?/?"
)


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
    if text == LOCAL:
        return Address(LOCAL)
    match = _SSH.fullmatch(text)
    port = int(match["port"] or 22) if match else 0
    if match is None or not 0 < port < 65536 or match["host"].startswith("-"):
        raise PlanError(
            f"workers: {text!r} is not a valid worker",
            hint="write local, ssh://host, or ssh://user@host:port; host may be a name of your ssh configuration",
        )
    name = text.rstrip("/")
    return Address(
        name, match["host"].strip("[]"), match["user"], int(match["port"]) if match["port"] else None
    )
