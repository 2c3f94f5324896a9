"""Instrumentation of trials on a worker: request it, and check before anything runs that it is available."""

from __future__ import annotations

from typing import Any

from trialwise._linux import counter_setting
from trialwise.errors import WorkerError
from trialwise.execution.workers.remote import Remote
from trialwise.execution.workers.tasks import RemoteRun, counted_rows
from trialwise.experiment.model import Experiment
from trialwise.experiment.sources import InstrumentSource
from trialwise.experiment.traits import sources_of
from trialwise.measurement.counting import why_not_counted
from trialwise.trials.command import trial_of
from trialwise.trials.instrumenting import remarks

_NAMESPACES = {"network": 0x40000000, "ipc": 0x08000000}
"""Flags of unshare(2)."""


def instruments_of_task(experiment: Experiment, *, follow: bool) -> dict[str, Any]:
    """Return the instrumentation settings for the agent: for the measured program, and whether to follow it."""
    wanted = experiment.instrumentation
    return {
        "settings": {
            "cpus": wanted.cpus,
            "counters": _settings(experiment),
            "isolate": sum(_NAMESPACES[name] for name in set(trial_of(experiment).isolate)),
            "follow": follow,
        },
        "machine": {"cpus": wanted.cpus} if wanted.interrupts else None,
    }


def check_instruments_there(remote: Remote, experiment: Experiment) -> None:
    """Check that the CPUs exist, and that the counters that metrics need are available.

    Raises
    ------
    WorkerError
        A CPU may not be used, a counter that a metric needs is missing, or namespaces are requested on a worker
        that our supervisor cannot measure.
    """
    where, usable = remote.address.name, remote.hello["cpus"]
    if absent := sorted(set(experiment.instrumentation.cpus) - set(usable)):
        raise WorkerError(
            f"{where}: instrumentation.cpus: CPU {absent[0]} is not available there",
            hint=f"known: {', '.join(map(str, usable))}",
        )
    if trial_of(experiment).isolate and not remote.supervised:
        raise WorkerError(
            f"{where}: trial.isolate: {unsupervised(remote)}",
            hint="leave it out, or run trialwise on a machine of the same architecture",
        )
    _check_counters(remote, experiment)


def _check_counters(remote: Remote, experiment: Experiment) -> None:
    needed = {source.name: metric.name for metric, source in sources_of(experiment.metrics, InstrumentSource)}
    counters = experiment.instrumentation.perf
    if needed.keys().isdisjoint(counters):
        return
    found = remote.ask("count", {"counters": _settings(experiment)}).head
    for name, value, _, number in counted_rows(counters, found["readings"] or ()):
        if value is None and name in needed:
            why = (
                why_not_counted(number, remote.hello["paranoid"])
                if remote.supervised
                else unsupervised(remote)
            )
            raise WorkerError(
                f"{remote.address.name}: metrics.{needed[name]}.instrument: {name} is not counted there: {why}",
                hint="software counters such as task-clock are there on most machines",
            )


def remarks_there(remote: Remote, run: RemoteRun) -> tuple[str, ...]:
    """Return remarks on the counters of a run on a worker."""
    if not remote.supervised:
        return (f"{remote.address.name}: counters are left out: {unsupervised(remote)}",)
    return tuple(f"{remote.address.name}: {text}" for text in remarks(run, remote.hello["paranoid"]))


def _settings(experiment: Experiment) -> list[str]:
    return [counter_setting(name) for name in experiment.instrumentation.perf]


def unsupervised(remote: Remote) -> str:
    """Say what a worker lacks because our supervisor does not run on it."""
    machine = f"{remote.hello['architecture']}, Linux {remote.hello['kernel']}"
    return f"needs a machine like this one, with Linux 5.3 or newer; that is {machine}"
