"""A worker as a machine: its environment and clocks, its resets, and its session in the ledger."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from trialwise.errors import WorkerError
from trialwise.execution.clocks import Clocks
from trialwise.execution.services.lifecycle import Services
from trialwise.execution.session import changed_since
from trialwise.execution.workers.remote import Remote
from trialwise.execution.workers.resetting import RemoteReset
from trialwise.execution.workers.services import SERVICE_QUERY, RemoteServices
from trialwise.execution.workers.tasks import Tasks
from trialwise.experiment.model import Experiment
from trialwise.measurement.checkout import GitState
from trialwise.measurement.details.collecting import LONGEST, MOST
from trialwise.measurement.environment import Environment, capture
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.identity import Identity
from trialwise.measurement.known_files import KnownFiles
from trialwise.store.records import TrialRow
from trialwise.temporary import vanishing_folder

if TYPE_CHECKING:
    from trialwise.measurement.file_identity import Described

FACTS = (
    "etc/machine-id",
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/loadavg",
    "proc/cmdline",
    "proc/1/environ",
    "proc/sys/kernel/*",
    "proc/sys/kernel/random/boot_id",
    "proc/sys/vm/*",
    "proc/sys/net/core/*",
    "proc/sys/net/ipv4/tcp_*",
    "proc/sys/net/ipv4/ip_local_port_range",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/dmi/id/product_name",
    "sys/hypervisor/type",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/smt/active",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/devices/system/cpu/cpu*/topology/core_id",
    "sys/devices/system/cpu/cpu*/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_*",
)
"""Files requested from a worker's /proc, /sys and /etc, as patterns."""


class RemoteMachine:
    """Watches a worker for its session, and represents it to the runner.

    Parameters
    ----------
    remote, tasks
        The connection, and what executes tasks over it.
    queries
        The measured programs, as the agent's `resolve` takes them.
    tell
        Called with remarks on its clock.
    own
        Names of variables that the experiment sets itself.
    services
        What starts services there.
    passed
        Names of variables that trials get besides those that they always get.
    """

    def __init__(
        self,
        remote: Remote,
        tasks: Tasks,
        queries: Sequence[Mapping[str, Any]],
        tell: Callable[[str], None],
        own: Iterable[str] = (),
        services: RemoteServices | None = None,
        *,
        passed: Sequence[str] = (),
    ) -> None:
        self.services = services or RemoteServices(remote)
        self.worker = remote.address.name
        self.marker = remote.marker
        self._remote = remote
        self._tasks = tasks
        self._queries = list(queries)
        self._tell = tell
        self._own = list(own)
        self._passed = list(passed)
        self.files = KnownFiles(Path(remote.files))
        self._is_asked = False
        self._marker_of_resets: str | None = None

    def stats(self) -> object:
        """Return a state that differs when a measured file or a limit changed, or the machine was rebooted."""
        self._ask_for_files()
        looked = self._remote.look(self.files.paths)
        return looked.clocks.boot, looked.stats

    def changed_since(self, moment: float, paths: Iterable[str]) -> set[str]:
        """Return the paths there that changed after a moment of our clock, in Unix seconds."""
        states, _ = self._remote.look(list(paths)).stats
        return changed_since(moment + self._remote.clock.shift, states)

    def clocks(self) -> Clocks:
        """Return the clocks of the worker now."""
        return self._remote.look([]).clocks

    def look(self) -> tuple[Environment, Identity]:
        """Describe the worker as this machine is described, from the texts of its /proc and /sys; and what is measured on it."""
        self._ask_for_files()
        facts = facts_of(self._remote, self._own, self._passed)
        environment = dataclasses.replace(described_by(facts), git=self._git())
        identity = Identity(
            environment.machine_identity(),
            self.files.identified(self._describe),
            facts["variables"],
            facts["limits"],
            volatile=tuple(sorted(self.files.volatile)),
        )
        return environment, identity

    def reset(
        self, experiment: Experiment, row: TrialRow, marker: str, cancel: int, services: Services
    ) -> str | None:
        """Reset the worker; return what went wrong, or None."""
        if experiment.reset is None:
            return None
        self._remote.ask("end", {"marker": marker})
        self._marker_of_resets = marker
        problem = RemoteReset(self._remote, self._tasks, experiment, row, marker, cancel, services).run()
        return None if problem is None else f"{self.worker}: {problem}"

    @property
    def namespace_pid(self) -> int | None:
        """Return None: a fresh namespace works on this machine only."""
        return None

    def close(self) -> None:
        """End processes that the last reset left running there."""
        if self._marker_of_resets is not None:
            with contextlib.suppress(WorkerError):  # it is lost, which has been reported
                self._remote.ask("end", {"marker": self._marker_of_resets})

    def _ask_for_files(self) -> None:
        """Find out once which files the commands name there."""
        if self._is_asked:
            return
        answers = self._remote.ask("resolve", {"queries": self._queries}).head["found"]
        pairs = list(zip(self._queries, answers, strict=True))
        for query, answer in sorted(pairs, key=lambda pair: pair[0]["key"] == SERVICE_QUERY):
            files = [NamedFile(Path(path), role) for path, role in answer["files"]]
            self.files.add(files, of_services=query["key"] == SERVICE_QUERY)
        self._is_asked = True

    def _describe(self, paths: Sequence[str]) -> dict[str, Described]:
        found = self._remote.ask("describe", {"paths": list(paths)}).head["found"]
        return {path: (each[0], each[1], each[2]) for path, each in found.items()}

    def _git(self) -> GitState | None:
        repository = self._remote.settings.git
        return None if repository is None else GitState(repository.commit, dirty=False)


def facts_of(remote: Remote, own: Sequence[str], passed: Sequence[str]) -> Mapping[str, Any]:
    """Return what an agent tells of its machine, and of what trials get there."""
    query = {"patterns": FACTS, "own": own, "passed": passed, "folder": remote.files}
    return remote.ask("facts", query).head


def described_by(facts: Mapping[str, Any]) -> Environment:
    """Return the environment of another machine from what its agent tells (`facts_of`)."""
    with vanishing_folder("trialwise-") as folder:
        _lay_out(folder, facts["files"])
        found = capture(root=folder)
    machine = dataclasses.replace(found.machine, architecture=facts["architecture"])
    told = known_details(facts["details"])
    return dataclasses.replace(found, machine=machine, python=facts["python"], details=told)


def known_details(told: object) -> dict[str, str]:
    """Return the further facts that another machine tells, bounded; anything but texts by name is left out."""
    facts: Mapping[object, object] = cast("Any", told) if isinstance(told, Mapping) else {}
    known = (
        (name[:LONGEST], text[:LONGEST])
        for name, text in facts.items()
        if isinstance(name, str) and isinstance(text, str)
    )
    return dict(itertools.islice(known, MOST))


def _lay_out(folder: Path, files: object) -> None:
    """Write the texts of a worker's files under `folder`."""
    for name, text in cast("dict[str, str]", files).items():
        path = folder / name
        if ".." not in path.parts:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
