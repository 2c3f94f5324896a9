from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

import pytest

from trialwise.measurement.checkout import git_state
from trialwise.measurement.environment import capture, cpu_list
from trialwise.measurement.identity import Identity

if TYPE_CHECKING:
    from pathlib import Path

CPUINFO_OF_A_GUEST = "processor\t: 0\nmodel name\t: Planted CPU 3000\nflags\t\t: fpu hypervisor\n"


def test_reads_a_planted_machine(plant):
    environment = capture(root=plant())
    machine, processor, kernel = environment.machine, environment.processor, environment.kernel
    assert (machine.memory, machine.memory_available, machine.swap, machine.swap_used) == (
        2**34,
        2**33,
        2**21,
        0,
    )
    assert (machine.hostname, machine.load) == ("planted", (0.01, 0.2, 0.3))
    assert machine.boot_id == "11111111-2222-3333-4444-555555555555"
    assert (machine.virtual_machine, machine.container) == (None, None)
    assert (processor.model, processor.cpus, processor.cores) == ("Planted CPU 3000", 4, 2)
    assert (processor.smt, processor.governor, processor.turbo, processor.isolated) == (
        False,
        "performance",
        False,
        None,
    )
    assert (kernel.release, kernel.version) == ("6.1.0-planted", "#1 SMP planted")
    assert (kernel.aslr, kernel.transparent_huge_pages, kernel.clock_source) == (0, "madvise", "tsc")
    assert kernel.sysctls == {"vm.swappiness": "60", "net.ipv4.tcp_congestion_control": "cubic"}


def test_what_should_not_be_published_is_not_there(plant):
    published = json.dumps(asdict(capture(root=plant())))
    assert "0123456789abcdef" not in published
    assert "secret" not in published


def test_nothing_at_all_gives_none_and_no_error(tmp_path: Path):
    environment = capture(checkout=tmp_path, root=tmp_path)
    for part in (environment.machine, environment.processor, environment.kernel):
        for field in fields(part):
            if field.name not in {"architecture", "sysctls"}:
                assert getattr(part, field.name) is None, field.name
    assert (environment.executables, environment.git, environment.kernel.sysctls) == ((), None, {})
    json.dumps(environment.record(Identity(environment.machine_identity())))


@pytest.mark.parametrize("junk", ["", "\0\0", "\xff\xfe junk", "a b c d e", "-", "[", ":::\n:"])
def test_junk_in_every_file_is_no_error(plant, junk: str):
    paths = [str(path.relative_to(root)) for root in [plant()] for path in root.rglob("*") if path.is_file()]
    environment = capture(root=plant(dict.fromkeys(paths, junk)))
    assert environment.machine.memory is None
    assert environment.machine.load is None
    assert environment.machine.virtual_machine is None or junk


@pytest.mark.parametrize(
    ("changes", "virtual", "container"),
    [
        ({"sys/class/dmi/id/sys_vendor": "QEMU\n"}, "qemu", None),
        ({"sys/class/dmi/id/product_name": "VMware Virtual Platform\n"}, "vmware", None),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}, None, None),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2\n", "proc/cpuinfo": CPUINFO_OF_A_GUEST}, "amazon", None),
        ({"proc/cpuinfo": CPUINFO_OF_A_GUEST}, "unknown", None),
        ({"sys/hypervisor/type": "xen\n"}, "xen", None),
        ({".dockerenv": ""}, None, "docker"),
        ({"run/.containerenv": ""}, None, "podman"),
        ({"run/systemd/container": "systemd-nspawn\n"}, None, "systemd-nspawn"),
        ({"proc/1/cgroup": "0::/kubepods.slice/pod1\n"}, None, "kubernetes"),
        ({"proc/1/cgroup": "0::/init.scope\n"}, None, None),
    ],
)
def test_tells_machines_from_containers(
    plant, changes: dict[str, str], virtual: str | None, container: str | None
):
    machine = capture(root=plant(changes)).machine
    assert (machine.virtual_machine, machine.container) == (virtual, container)


def test_only_what_makes_rounds_incomparable_is_in_the_identity(plant):
    first = capture(root=plant()).machine_identity()
    informs = {
        "proc/loadavg": "9 9 9 1/1 1\n",
        "proc/sys/kernel/random/boot_id": "another\n",
        "proc/meminfo": "MemTotal: 16770000 kB\nMemAvailable: 1 kB\n",
    }
    assert capture(root=plant(informs)).machine_identity() == first
    for change, name in (
        ({"proc/sys/kernel/osrelease": "6.2.0\n"}, "kernel release"),
        ({"proc/sys/kernel/version": "#2 SMP\n"}, "kernel version"),
        ({"etc/machine-id": "fedcba\n"}, "machine"),
        ({"proc/cpuinfo": "model name : Other\n"}, "processor"),
        ({"sys/devices/system/cpu/online": "0-1\n"}, "cpus"),
        ({"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n"}, "governor"),
        ({"proc/meminfo": "MemTotal: 33554432 kB\n"}, "memory"),
    ):
        other = Identity(capture(root=plant(change)).machine_identity())
        assert [each.name for each in other.changes(Identity(first))] == [name]
        assert other.digest != Identity(first).digest


def test_describes_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}.items():
        monkeypatch.setenv(name, value)
    assert git_state(tmp_path) is None
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *author, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    assert git_state(tmp_path) is None
    git("commit", "-q", "--allow-empty", "-m", "First")
    state = git_state(tmp_path)
    assert state is not None
    assert (state.commit, state.dirty) == (git("rev-parse", "HEAD").strip(), False)
    (tmp_path / "new").touch()
    state = git_state(tmp_path)
    assert state is not None
    assert state.dirty
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-3,8", (0, 1, 2, 3, 8)), ("5", (5,)), ("", ()), ("x", ()), ("1-", (1,))]
)
def test_reads_lists_of_cpus(text: str, cpus: tuple[int, ...]):
    assert cpu_list(text) == cpus


def test_this_machine_is_described_in_milliseconds():
    times = []
    for _ in range(5):
        begin = time.process_time()
        environment = capture()
        times.append(time.process_time() - begin)
    assert min(times) < 0.05
    assert environment.kernel.release == os.uname().release
    assert environment.processor.cpus == os.cpu_count()
    assert environment.machine.memory == pytest.approx(
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    )
