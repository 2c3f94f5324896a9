"""Containers of podman on a worker with version 2 of cgroups alone: a machine with a kernel of its own, which has their memory."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tests.system.conftest import Bench
from tests.system.test_containers import BOX, STORAGE, WORK, pytestmark, recorded_of, stored_in
from tests.system.virtual_machine import VirtualMachine, virtual_machine

__all__ = ["pytestmark"]

NAMES = ("CONTAINERS_STORAGE_CONF", "CONTAINERS_CONF")


def prepared(machine: VirtualMachine, store: dict[str, str]) -> str:
    """Give the machine cgroups and the image `box`; return the variables that podman needs there."""
    machine.run(
        "python3 -c 'import ctypes, json, subprocess, tarfile, threading, zipfile'"
    )  # it reads them at leisure
    machine.run("mount -t cgroup2 cgroup2 /sys/fs/cgroup")
    given = " ".join(f"{name}={store[name]}" for name in NAMES)
    machine.run(f"env {given} podman import {store['BOX']} box")
    machine.run(
        f"env {given} podman info"
    )  # an emulated processor reads podman for half a minute, the first time
    return given


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_cpu_time_and_memory_are_those_of_the_container_by_version_2(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    made = tmp_path_factory.mktemp("virtual")  # the folder of the experiment is copied to the worker
    # The machine sees the files of this one but for those in /tmp.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as seen, virtual_machine(made) as machine:
        store = stored_in(Path(seen))
        Path(store["CONTAINERS_STORAGE_CONF"]).write_text(STORAGE.format("/root/podman"))
        given = prepared(machine, store)
        monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(machine.configuration))
        metrics = "".join(
            f'[metrics.{each}]\nresource = "{each}"\n' for each in ("user", "system", "max_rss")
        )
        variables = "".join(f'environment.{name} = "{store[name]}"\n' for name in NAMES)
        command = BOX.replace(" box", f" box {WORK}")
        there = f'[workers]\nuse = ["{machine.name}"]\nfolder = "/root/trials"\nheartbeat = "60s"\nreconnect = "10min"\n'
        bench.write(command, "stdout = 'ran ([0-9]+)'", trial=variables, rest=metrics + there, rounds=1)
        result = bench.run()
        assert result.counts == {"finished": 1}, (result.ending.text, [row.reason for row in bench.rows()])
        assert machine.run(f"env {given} podman ps --all --quiet") == ""
    found = recorded_of(bench)
    [printed] = found["stdout|pattern:ran ([0-9]+)"]
    measured = found["resource:user"][0] + found["resource:system"][0]
    assert printed / 1e9 <= measured + 0.001
    assert 48 << 20 < found["resource:max_rss"][0] < 60 << 20
