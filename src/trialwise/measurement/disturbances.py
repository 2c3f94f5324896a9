"""Find what disturbs measurements on this machine, why, and how to change and undo it. Changes nothing."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.measurement.activity import Activity, observe
from trialwise.measurement.environment import cpu_list
from trialwise.measurement.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from trialwise.measurement.environment import Environment

LOW_DISK_BYTES = 5 * 10**9
DEBUG_OPTIONS = (
    "KASAN",
    "KCSAN",
    "PROVE_LOCKING",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "DEBUG_KMEMLEAK",
    "LOCK_STAT",
)
SLOW_CLOCKS = {"hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies"}


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Something that disturbs measurements.

    Parameters
    ----------
    name
        One or two words.
    found
        What was found.
    why
        Why it disturbs.
    change
        The exact command that changes it, or what to do if no command does.
    undo
        The exact command that restores it; None if there is nothing to restore.
    """

    name: str
    found: str
    why: str
    change: str
    undo: str | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """What the checks inspect."""

    environment: Environment
    activity: Activity
    tree: Tree
    folder: Path


def disturbances(
    environment: Environment,
    *,
    activity: Activity | None = None,
    folder: Path = Path(),
    root: Path = Path("/"),
) -> tuple[Disturbance, ...]:
    """Find what disturbs measurements; most important first.

    Parameters
    ----------
    environment
        The result of `trialwise.measurement.environment.capture`.
    activity
        Other load on the machine; None observes it for a third of a second.
    folder
        Where results will be written.
    root
        Folder that contains ``proc``, ``sys`` and ``boot``.
    """
    scene = Scene(environment, activity or observe(root=root), Tree(root), folder)
    found = (check(scene) for check in CHECKS)
    return tuple(each for each in found if each is not None)


def _busy_processes(scene: Scene) -> Disturbance | None:
    busy = scene.activity.processes
    if not busy:
        return None
    shown = ", ".join(f"{each.name} ({each.process}) {each.cpu_share:.0%} of a CPU" for each in busy[:5])
    more = f" and {len(busy) - 5} more" if len(busy) > 5 else ""
    numbers = " ".join(str(each.process) for each in busy[:5])
    return Disturbance(
        "busy processes",
        shown + more,
        "they take CPU time, cache and memory bandwidth from trials, and not from all alike",
        f"end them, or stop them for the time being: kill -STOP {numbers}",
        f"kill -CONT {numbers}",
    )


def _load(scene: Scene) -> Disturbance | None:
    load, cpus = scene.environment.machine.load, scene.environment.processor.cpus
    if load is None or cpus is None or load[0] < max(0.5, 0.1 * cpus):
        return None
    return Disturbance(
        "load",
        f"{load[0]:.2f} over the last minute on {cpus} CPUs",
        "something else waits for CPUs or disks; trials queue behind it",
        "wait until `uptime` shows less, or find it: ps -eo pid,pcpu,state,comm --sort=-pcpu | head",
    )


def _governor(scene: Scene) -> Disturbance | None:
    governor = scene.environment.processor.governor
    if governor is None or governor == "performance":
        return None
    path = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
    return Disturbance(
        "frequency governor",
        governor,
        "the CPU's frequency follows the load, so that a trial's speed depends on what ran before it",
        f"echo performance | sudo tee {path}",
        f"echo {governor} | sudo tee {path}",
    )


def _turbo(scene: Scene) -> Disturbance | None:
    if not scene.environment.processor.turbo:
        return None
    intel = "sys/devices/system/cpu/intel_pstate/no_turbo"
    path, off, on = (
        (intel, 1, 0) if scene.tree.exists(intel) else ("sys/devices/system/cpu/cpufreq/boost", 0, 1)
    )
    return Disturbance(
        "turbo",
        "on",
        "the frequency depends on temperature and on how many cores are busy",
        f"echo {off} | sudo tee /{path}",
        f"echo {on} | sudo tee /{path}",
    )


def _smt(scene: Scene) -> Disturbance | None:
    if not scene.environment.processor.smt:
        return None
    path = "/sys/devices/system/cpu/smt/control"
    return Disturbance(
        "SMT",
        "on",
        "two hardware threads share a core's units and caches: what runs on one slows the other",
        f"echo off | sudo tee {path}",
        f"echo on | sudo tee {path}",
    )


def _aslr(scene: Scene) -> Disturbance | None:
    aslr = scene.environment.kernel.aslr
    if not aslr:
        return None
    return Disturbance(
        "ASLR",
        f"kernel.randomize_va_space = {aslr}",
        "each process gets another memory layout, and with it other cache and branch conflicts: more"
        " variation between trials (leave it on where that variation is part of the question)",
        "for one program: setarch -R PROGRAM; for all: sudo sysctl kernel.randomize_va_space=0",
        f"sudo sysctl kernel.randomize_va_space={aslr}",
    )


def _virtual_machine(scene: Scene) -> Disturbance | None:
    machine = scene.environment.machine.virtual_machine
    if machine is None:
        return None
    steal = scene.activity.steal_share
    stolen = "" if steal is None else f", {steal:.1%} of CPU time stolen while looking"
    return Disturbance(
        "virtual machine",
        f"hypervisor: {machine}{stolen}",
        "neighbours share the machine, unseen from inside but for steal time, and frequencies are not ours",
        'use bare metal or a dedicated host; here: order = "random", and series on several days',
    )


def _container(scene: Scene) -> Disturbance | None:
    container = scene.environment.machine.container
    if container is None:
        return None
    return Disturbance(
        "container",
        container,
        "limits on CPU time throttle trials in bursts, and layered file systems slow the first writes",
        "run outside a container, or without CPU limits: docker run --cpus=0 --cpuset-cpus=…",
    )


def _swap(scene: Scene) -> Disturbance | None:
    used = scene.environment.machine.swap_used
    if not used:
        return None
    return Disturbance(
        "swap",
        f"{used / 1e6:,.0f} MB in use",
        "a page that was swapped out costs milliseconds when it is touched again",
        "sudo swapoff -a",
        "sudo swapon -a",
    )


def _huge_pages(scene: Scene) -> Disturbance | None:
    setting = scene.environment.kernel.transparent_huge_pages
    if setting != "always":
        return None
    path = "/sys/kernel/mm/transparent_hugepage/enabled"
    return Disturbance(
        "transparent huge pages",
        setting,
        "whether a program gets huge pages depends on how fragmented memory is, and so on what ran before",
        f"echo madvise | sudo tee {path}",
        f"echo {setting} | sudo tee {path}",
    )


def _clock_source(scene: Scene) -> Disturbance | None:
    source = scene.environment.kernel.clock_source
    if source not in SLOW_CLOCKS:
        return None
    path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    return Disturbance(
        "clock source",
        source,
        "reading the clock takes a microsecond and a system call: programs that read it often are slowed",
        f"if {path.replace('current', 'available')} has tsc: echo tsc | sudo tee {path}",
        f"echo {source} | sudo tee {path}",
    )


def _isolated_cpus(scene: Scene) -> Disturbance | None:
    isolated = scene.environment.processor.isolated
    if not isolated:
        return None
    return Disturbance(
        "isolated CPUs",
        f"{isolated} ({len(cpu_list(isolated))} of {scene.environment.processor.cpus} CPUs)",
        "the scheduler puts nothing there by itself: only trials bound to them profit, and all threads of a"
        " trial bound to several of them stay on one",
        f"bind single-threaded trials to one: taskset -c {next(iter(cpu_list(isolated)), 'CPU')} PROGRAM",
    )


def _debug_kernel(scene: Scene) -> Disturbance | None:
    release = scene.environment.kernel.release or ""
    options = [
        name for name in DEBUG_OPTIONS if f"CONFIG_{name}=y" in _kernel_configuration(scene.tree, release)
    ]
    if not options and not release.endswith(("debug", "-dbg")):
        return None
    return Disturbance(
        "debug kernel",
        f"{release} {' '.join(options)}".strip(),
        "its checks slow system calls, locks and memory several times over",
        "boot the distribution's ordinary kernel",
    )


def _kernel_configuration(tree: Tree, release: str) -> frozenset[str]:
    text = tree.text(f"boot/config-{release}")
    if text is None:
        try:
            text = gzip.decompress((tree.root / "proc/config.gz").read_bytes()).decode(errors="replace")
        except (OSError, EOFError):
            return frozenset()
    return frozenset(text.splitlines())


def _disk_space(scene: Scene) -> Disturbance | None:
    try:
        usage = shutil.disk_usage(scene.folder)
    except OSError:
        return None
    if usage.free >= LOW_DISK_BYTES:
        return None
    return Disturbance(
        "disk space",
        f"{usage.free / 1e9:.1f} GB free of {usage.total / 1e9:.1f} GB at {scene.folder.absolute()}",
        "trials fail when it is full, and file systems slow down before",
        f"make room, or use another folder; see: du -xh --max-depth=2 {scene.folder.absolute()} | sort -h",
    )


def _clock_synchronisation(scene: Scene) -> Disturbance | None:
    if scene.environment.machine.clock_synchronised is not False:
        return None
    return Disturbance(
        "clock not synchronised",
        "the kernel says so (adjtimex)",
        "times from several machines cannot be compared, and a jump may put a series at a wrong hour",
        "sudo timedatectl set-ntp true",
        "sudo timedatectl set-ntp false",
    )


CHECKS: tuple[Callable[[Scene], Disturbance | None], ...] = (
    _busy_processes,
    _load,
    _governor,
    _turbo,
    _virtual_machine,
    _container,
    _smt,
    _swap,
    _debug_kernel,
    _clock_source,
    _huge_pages,
    _aslr,
    _isolated_cpus,
    _disk_space,
    _clock_synchronisation,
)
