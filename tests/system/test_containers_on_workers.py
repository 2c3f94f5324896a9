"""Containers of podman as trials on a worker that ssh reaches: in the worker's mount namespace, with a /dev of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.conftest import Bench
from tests.system.test_containers import (
    BOX,
    CGROUPS,
    OF_THIS_MACHINE,
    OWN_DEV,
    PASSED,
    WORK,
    bench,
    pytestmark,
    recorded_of,
    store,
)
from tests.system.worker_machines import Machine, machines

__all__ = ["bench", "pytestmark", "store"]

PASSES = ("CONTAINERS_STORAGE_CONF", "CONTAINERS_CONF")


@pytest.fixture
def machine(store: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A worker that has podman and the image `box`."""
    with machines(tmp_path, 1) as made:
        found = made[0]
        own_dev = OWN_DEV.replace("{}", CGROUPS[OF_THIS_MACHINE], 1).removesuffix("exec sleep 600\n")
        found.run("sh", "-c", own_dev)
        given = [f"{name}={store[name]}" for name in PASSES]
        if "box" not in found.run("env", *given, "podman", "images"):
            found.run("env", *given, "podman", "import", store["BOX"], "box")
        found.stop()
        found.environment = " ".join(given)
        found.start()
        monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(made.configuration))
        yield found
        found.run("env", *given, "podman", "rm", "--all", "--force", "--time=0")


def on(machine: Machine) -> str:
    return f'[workers]\nuse = ["{machine.name}"]\nfolder = "{machine.home}"\n'


def running(machine: Machine, *words: str) -> list[str]:
    """The containers there that run, or with `--all` all that there are."""
    given = machine.environment.split()
    return machine.run("env", *given, "podman", "ps", *words, "--quiet").split()


@pytest.mark.soak
def test_cpu_time_and_memory_are_those_of_the_container_there_too(machine: Machine, bench: Bench):
    asked = ("user", "system", "max_rss")
    metrics = "".join(f'[metrics.{each}]\nresource = "{each}"\n' for each in asked)
    command = BOX.replace(" box", f" box {WORK}")
    bench.write(command, "stdout = 'ran ([0-9]+)'", trial=PASSED, rest=metrics + on(machine), rounds=1)
    assert bench.run().counts == {"finished": 1}, [row.reason for row in bench.rows()]
    assert running(machine, "--all") == []
    found = recorded_of(bench)
    [printed] = found["stdout|pattern:ran ([0-9]+)"]
    measured = found["resource:user"][0] + found["resource:system"][0]
    assert printed / 1e9 <= measured + 0.001
    assert measured < printed / 1e9 + 0.1
    assert 48 << 20 < found["resource:max_rss"][0] < 60 << 20


@pytest.mark.soak
def test_the_container_of_a_trial_that_takes_too_long_is_ended_there(machine: Machine, bench: Bench):
    slow = PASSED + '\ntimeout = "5s"'
    bench.write(f"{BOX} sleep 300", "resource = 'wall'", trial=slow, rest=on(machine), rounds=1)
    assert bench.run().counts == {"failed": 1}
    assert "took longer than" in str(bench.rows("failed")[0].reason)
    assert running(machine) == []
