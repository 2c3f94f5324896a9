"""The environment of an end of a real path: what the ledger keeps of it, and what makes trials incomparable when it differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from trialwise.errors import WorkerError
from trialwise.execution.ends.installed import search_path_at
from trialwise.execution.workers.machine import described_by, facts_of
from trialwise.execution.workers.remote import Remote
from trialwise.measurement.inherited import EVERYTHING
from trialwise.schemes.scheme import Scheme
from trialwise.trials.base import TrialOutcome

LEFT_OUT = {"net.ipv4.tcp_mem", "net.ipv4.tcp_allowed_congestion_control"}
"""Settings of the network that follow from something else: the memory that was free at boot, the laws that trials have loaded."""
OWN = "trialwise-end"
"""Name of Trialwise's own program at an end."""
_DIGITS = 12
_LONGEST = 200
"""Characters of a text of the agent that are kept."""


@dataclass(frozen=True, slots=True)
class EndEnvironment:
    """An end of a real path: `record` for the file of the session's environment, `identity` by name."""

    record: Mapping[str, object]
    identity: Mapping[str, str]

    def with_interface(self, told: object) -> EndEnvironment:
        """Return it with what the agent told of the interface of the path; anything but texts and numbers by name is left out."""
        facts = dict(cast("Mapping[object, object]", told)) if isinstance(told, Mapping) else {}
        known = {
            name: str(value)[:_LONGEST]
            for name, value in facts.items()
            if isinstance(name, str) and isinstance(value, str | int)
        }
        compared = {name: known[name] for name in ("qdisc", "mtu") if name in known}
        return EndEnvironment({**self.record, "interface": known}, {**self.identity, **compared})


def environment_at(remote: Remote, program: str, schemes: Sequence[Scheme]) -> EndEnvironment:
    """Describe an end as workers and this machine are described, with the settings of its network and the programs of its schemes.

    Parameters
    ----------
    remote
        The connection to it.
    program
        Path of Trialwise's own program there.
    schemes
        Those of the trial.

    Raises
    ------
    WorkerError
        The end is lost, or its answer makes no sense.
    """
    try:
        found = described_by(facts_of(remote, (), EVERYTHING))
        programs = dict(_programs(remote, program, schemes))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WorkerError(
            f"{remote.address.name}: what it tells of itself cannot be read: {error}"
        ) from error
    machine = {
        name.replace("_", " "): str(value) for name, value in found.machine_identity().items() if value
    }
    identity = {
        **machine,
        **network_settings(found.kernel.sysctls),
        **{name: digest[:_DIGITS] for name, digest in programs.items()},
    }
    record = {name: value for name, value in asdict(found).items() if name not in ("executables", "git")}
    return EndEnvironment({**record, "programs": programs}, identity)


def network_settings(sysctls: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the network among sysctls by name, without those that follow from something else."""
    return {
        name: " ".join(text.split())
        for name, text in sysctls.items()
        if name.startswith("net.") and name not in LEFT_OUT
    }


def _programs(remote: Remote, program: str, schemes: Sequence[Scheme]) -> Iterator[tuple[str, str]]:
    """Yield the SHA-256 of Trialwise's own program, and of the files of the programs that schemes need."""
    names = {
        name: path
        for scheme in schemes
        if scheme.needs.programs
        for path in [search_path_at(remote, scheme)]
        for name in scheme.needs.programs
    }
    queries: list[dict[str, Any]] = [
        {"key": "command", "words": [name], "directory": "/", "path": path, "variables": {"PATH": path}}
        for name, path in names.items()
    ]
    answers: list[Any] = remote.ask("resolve", {"queries": queries}).head["found"] if queries else []
    found = [str(file[0]) for answer in answers for file in answer["files"]]
    labels = {**{path: path for path in found}, program: OWN}
    described = remote.ask("describe", {"paths": list(labels)}).head["found"]
    for path, label in labels.items():
        if path in described:
            yield f"program {label}", str(described[path][1])


def with_environments(outcome: TrialOutcome, ends: Sequence[EndEnvironment]) -> TrialOutcome:
    """Return the outcome of a trial with the environments of its two ends, `from` first."""
    if outcome.condition is None:
        return outcome
    names = outcome.condition.ends
    machines = {name: end.identity for name, end in zip(names, ends, strict=True)}
    return replace(
        outcome,
        condition=replace(outcome.condition, machines=machines),
        ends={name: end.record for name, end in zip(names, ends, strict=True)},
    )
