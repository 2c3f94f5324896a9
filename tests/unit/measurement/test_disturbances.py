from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import NamedTuple

import pytest

from trialwise.measurement.activity import Activity, BusyProcess, between, look, observe
from trialwise.measurement.disturbances import disturbances
from trialwise.measurement.environment import capture

QUIET = Activity(1.0, 0.0, ())
CPU = "sys/devices/system/cpu"


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def found(root, activity: Activity = QUIET):
    return disturbances(capture(root=root), activity=activity, root=root)


@pytest.fixture(autouse=True)
def disk(monkeypatch: pytest.MonkeyPatch):
    def plant_free(free: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12 - free, free))

    plant_free(10**12)
    return plant_free


def test_a_quiet_machine_has_none(plant):
    assert found(plant()) == ()


@pytest.mark.parametrize(
    ("changes", "name", "words", "change", "undo"),
    [
        (
            {f"{CPU}/cpu0/cpufreq/scaling_governor": "schedutil\n"},
            "frequency governor",
            "schedutil",
            "echo performance | sudo tee",
            "echo schedutil | sudo tee",
        ),
        (
            {f"{CPU}/intel_pstate/no_turbo": "0\n"},
            "turbo",
            "on",
            "echo 1 | sudo tee /sys",
            "echo 0 | sudo tee /sys",
        ),
        (
            {f"{CPU}/intel_pstate/no_turbo": None, f"{CPU}/cpufreq/boost": "1\n"},
            "turbo",
            "on",
            "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
            "echo 1 | sudo tee",
        ),
        ({f"{CPU}/smt/active": "1\n"}, "SMT", "on", "echo off", "echo on"),
        ({"proc/sys/kernel/randomize_va_space": "2\n"}, "ASLR", "2", "space=0", "space=2"),
        ({"proc/loadavg": "3.5 1 1 1/1 1\n"}, "load", "3.50 over the last minute on 4 CPUs", "uptime", None),
        ({"proc/meminfo": "SwapTotal: 4000 kB\nSwapFree: 1000 kB\n"}, "swap", "3 MB", "swapoff", "swapon"),
        (
            {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"},
            "transparent huge pages",
            "always",
            "echo madvise",
            "echo always",
        ),
        (
            {"sys/class/dmi/id/sys_vendor": "QEMU\n"},
            "virtual machine",
            "qemu, 0.0% of CPU time",
            "bare metal",
            None,
        ),
        ({".dockerenv": ""}, "container", "docker", "outside", None),
        (
            {f"{CPU}/../clocksource/clocksource0/current_clocksource": "hpet\n"},
            "clock source",
            "hpet",
            "available_clocksource",
            "echo hpet",
        ),
        ({f"{CPU}/isolated": "2-3\n"}, "isolated CPUs", "2-3 (2 of 4 CPUs)", "taskset -c 2", None),
        ({"boot/config-6.1.0-planted": "CONFIG_KASAN=y\n"}, "debug kernel", "KASAN", "ordinary kernel", None),
        ({"proc/sys/kernel/osrelease": "6.1.0+debug\n"}, "debug kernel", "+debug", "ordinary kernel", None),
    ],
)
def test_each_disturbance_is_found_with_its_remedy(plant, changes, name, words, change, undo):
    [only] = found(plant(changes))
    assert only.name == name
    assert words in only.found
    assert change in only.change
    assert only.why
    assert (only.undo is None) if undo is None else (undo in (only.undo or ""))


def test_a_packed_kernel_configuration_is_read(plant):
    root = plant()
    (root / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_SMP=y\nCONFIG_PROVE_LOCKING=y\n"))
    assert [each.found for each in found(root)] == ["6.1.0-planted PROVE_LOCKING"]
    (root / "proc/config.gz").write_bytes(b"junk")
    assert found(root) == ()


def test_busy_processes_are_named(plant):
    busy = tuple(BusyProcess(100 + index, f"job{index}", 0.9) for index in range(7))
    [only] = found(plant(), Activity(1.0, 0.0, busy))
    assert "job0 (100) 90% of a CPU" in only.found
    assert "2 more" in only.found
    assert only.undo == "kill -CONT 100 101 102 103 104"


def test_a_full_disk_and_an_unsynchronised_clock_are_found(plant, disk):
    root = plant()
    disk(10**9)
    assert [each.name for each in found(root)] == ["disk space"]
    disk(10**12)
    environment = capture(root=root)
    adrift = replace(environment, machine=replace(environment.machine, clock_synchronised=False))
    assert [each.name for each in disturbances(adrift, activity=QUIET, root=root)] == [
        "clock not synchronised"
    ]


def stat(name: str, user: int, system: int) -> str:
    return f"7 ({name}) S 1 7 7 0 -1 4194560 1 2 3 4 {user} {system} 0 0 20 0 1 0 100 1 1\n"


def test_activity_is_the_difference_of_two_looks(plant):
    first = plant({"proc/7/stat": stat("a) b (c", 100, 100), "proc/8/stat": stat("idle", 5, 5)})
    later = plant(
        {
            "proc/stat": "cpu  150 0 100 825 0 0 0 25 0 0\n",
            "proc/7/stat": stat("a) b (c", 130, 120),
            "proc/8/stat": stat("idle", 5, 5),
            "proc/9/stat": stat("new", 500, 0),
            "proc/10/stat": "junk",
        }
    )
    activity = between(look(root=first, now=10.0), look(root=later, now=11.0))
    assert activity == Activity(1.0, 0.25, (BusyProcess(7, "a) b (c", 0.5),))


def test_this_machine_is_looked_at_and_left_alone():
    spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        activity = observe(0.5)
        assert spinner.pid in {each.process for each in activity.processes}
        everything = disturbances(capture(), activity=activity)
        assert "busy processes" in {each.name for each in everything}
        assert all(each.found and each.why and each.change for each in everything)
    finally:
        spinner.kill()
        spinner.wait()
