"""The machine that trials run on: what makes rounds comparable, and what is only informative."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from trialwise.measurement.checkout import GitState, git_state
from trialwise.measurement.details.collecting import details
from trialwise.measurement.identity import FileIdentity, Identity
from trialwise.measurement.tree import Tree
from trialwise.measurement.virtualization import container, virtual_machine

SYSCTLS = (
    "kernel/perf_event_paranoid",
    "kernel/nmi_watchdog",
    "kernel/numa_balancing",
    "kernel/sched_rt_runtime_us",
    "kernel/timer_migration",
    "vm/swappiness",
    "vm/overcommit_memory",
    "vm/dirty_ratio",
    "vm/dirty_background_ratio",
    "net/core/default_qdisc",
    "net/core/netdev_budget",
    "net/core/netdev_max_backlog",
    "net/core/rmem_default",
    "net/core/rmem_max",
    "net/core/somaxconn",
    "net/core/wmem_default",
    "net/core/wmem_max",
    "net/ipv4/ip_local_port_range",
)
# A secret, and lists of what is available: not settings.
NOT_SETTINGS = {
    "net/ipv4/tcp_fastopen_key",
    "net/ipv4/tcp_available_congestion_control",
    "net/ipv4/tcp_available_ulp",
}
TIME_ERROR = 5  # adjtimex(2): the clock is not synchronised


@dataclass(frozen=True, slots=True)
class Processor:
    """The CPUs. `turbo` and `smt`: whether they are enabled; `isolated`: the kernel's list, such as ``"2-3"``."""

    model: str | None
    cpus: int | None
    cores: int | None
    smt: bool | None
    governor: str | None
    driver: str | None
    turbo: bool | None
    isolated: str | None


@dataclass(frozen=True, slots=True)
class Kernel:
    """The kernel and its settings. `aslr`: 0 off, 1 partial, 2 full; `sysctls`: by name, as text."""

    release: str | None
    version: str | None
    command_line: str | None
    aslr: int | None
    transparent_huge_pages: str | None
    clock_source: str | None
    sysctls: dict[str, str]


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine; sizes in bytes. `identity` is a hash of the machine id, which must not be published."""

    identity: str | None
    hostname: str | None
    architecture: str
    boot_id: str | None
    memory: int | None
    memory_available: int | None
    swap: int | None
    swap_used: int | None
    load: tuple[float, float, float] | None
    virtual_machine: str | None
    container: str | None
    clock_synchronised: bool | None


@dataclass(frozen=True, slots=True)
class Environment:
    """Where trials run, and with what. Values that could not be determined are None.

    `details` are further facts by dotted name (`trialwise.measurement.details`); what could not be determined is not there.
    """

    machine: Machine
    processor: Processor
    kernel: Kernel
    python: str
    executables: tuple[FileIdentity, ...] = ()
    git: GitState | None = None
    details: Mapping[str, str] = field(default_factory=dict[str, str])

    def machine_identity(self) -> dict[str, str | int | None]:
        """Return the properties of the machine that make trials incomparable when they differ; all others only inform.

        `memory` is in bytes, rounded to 256 MiB, because the kernel's own share varies from boot to boot.
        """
        memory = self.machine.memory
        return {
            "kernel_release": self.kernel.release,
            "kernel_version": self.kernel.version,
            "machine": self.machine.identity,
            "processor": self.processor.model,
            "cpus": self.processor.cpus,
            "governor": self.processor.governor,
            "memory": None if memory is None else round(memory / 2**28) * 2**28,
        }

    def record(self, identity: Identity) -> dict[str, object]:
        """Return a mapping for `json.dumps`, including the identity of what is measured here."""
        return {**asdict(replace(self, executables=identity.files)), "fingerprint": identity.to_json()}


def capture(
    *, checkout: Path | None = None, root: Path = Path("/"), variables: Mapping[str, str] | None = None
) -> Environment:
    """Describe this machine. Never fails, changes nothing, and takes milliseconds.

    Parameters
    ----------
    checkout
        A folder whose git state belongs to the experiment.
    root
        Folder that contains ``proc`` and ``sys``.
    variables
        Those that trials get; default all of this process.
    """
    tree = Tree(root)
    return Environment(
        machine=_machine(tree),
        processor=_processor(tree),
        kernel=_kernel(tree),
        python=platform.python_version(),
        git=None if checkout is None else git_state(checkout),
        details=details(tree, checkout or Path(), os.environ if variables is None else variables),
    )


def _machine(tree: Tree) -> Machine:
    memory = {name: _kibibytes(text) for name, text in tree.fields("proc/meminfo").items()}
    swap, swap_free = memory.get("SwapTotal"), memory.get("SwapFree")
    return Machine(
        identity=_identity(tree),
        hostname=tree.text("proc/sys/kernel/hostname"),
        architecture=platform.machine(),
        boot_id=tree.text("proc/sys/kernel/random/boot_id"),
        memory=memory.get("MemTotal"),
        memory_available=memory.get("MemAvailable"),
        swap=swap,
        swap_used=None if swap is None or swap_free is None else swap - swap_free,
        load=_load(tree),
        virtual_machine=virtual_machine(tree),
        container=container(tree),
        clock_synchronised=_clock_synchronised() if tree.root == Path("/") else None,
    )


def _kibibytes(text: str) -> int | None:
    number = text.partition(" ")[0]
    return int(number) * 1024 if number.isdecimal() else None


def _identity(tree: Tree) -> str | None:
    known = tree.text("etc/machine-id") or tree.text("proc/sys/kernel/hostname")
    return hashlib.sha256(f"trialwise machine {known}".encode()).hexdigest()[:16] if known else None


def _load(tree: Tree) -> tuple[float, float, float] | None:
    try:
        one, five, fifteen = map(float, (tree.text("proc/loadavg") or "").split(maxsplit=3)[:3])
    except ValueError:
        return None
    return one, five, fifteen


def _clock_synchronised() -> bool | None:
    """Ask the kernel through adjtimex(2), which changes nothing while its first field, `modes`, is 0."""
    state = ctypes.create_string_buffer(512)  # struct timex has 208 bytes
    try:
        answer = ctypes.CDLL(None).adjtimex(state)
    except (OSError, AttributeError):
        return None
    return None if answer < 0 else answer != TIME_ERROR


GOVERNOR = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"


def _processor(tree: Tree) -> Processor:
    described = tree.fields("proc/cpuinfo")
    frequency = "sys/devices/system/cpu/cpu0/cpufreq"
    smt = tree.integer("sys/devices/system/cpu/smt/active")
    return Processor(
        model=described.get("model name") or described.get("CPU part"),
        cpus=_cpus(tree),
        cores=_cores(tree),
        smt=None if smt is None else smt == 1,
        governor=tree.text(GOVERNOR),
        driver=tree.text(f"{frequency}/scaling_driver"),
        turbo=_turbo(tree),
        isolated=tree.text("sys/devices/system/cpu/isolated") or None,
    )


def _cpus(tree: Tree) -> int | None:
    online = tree.text("sys/devices/system/cpu/online")
    if online:
        return len(cpu_list(online))
    return sum(line.startswith("processor") for line in tree.lines("proc/cpuinfo")) or None


def cpu_list(text: str) -> tuple[int, ...]:
    """Parse the kernel's notation of CPUs, such as ``0-3,8``; other text is ignored."""
    cpus: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            cpus += range(int(first), int(last or first) + 1)
    return tuple(cpus)


def _cores(tree: Tree) -> int | None:
    cores: set[tuple[str | None, str | None]] = set()
    for cpu in cpu_list(tree.text("sys/devices/system/cpu/online") or ""):
        topology = f"sys/devices/system/cpu/cpu{cpu}/topology"
        cores.add((tree.text(f"{topology}/physical_package_id"), tree.text(f"{topology}/core_id")))
    return len(cores - {(None, None)}) or None


def _turbo(tree: Tree) -> bool | None:
    off = tree.integer("sys/devices/system/cpu/intel_pstate/no_turbo")
    if off is not None:
        return off == 0
    on = tree.integer("sys/devices/system/cpu/cpufreq/boost")
    return None if on is None else on == 1


def _kernel(tree: Tree) -> Kernel:
    return Kernel(
        release=tree.text("proc/sys/kernel/osrelease"),
        version=tree.text("proc/sys/kernel/version"),
        command_line=tree.text("proc/cmdline"),
        aslr=tree.integer("proc/sys/kernel/randomize_va_space"),
        transparent_huge_pages=tree.chosen("sys/kernel/mm/transparent_hugepage/enabled"),
        clock_source=tree.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        sysctls=_sysctls(tree),
    )


def _sysctls(tree: Tree) -> dict[str, str]:
    tcp = [f"net/ipv4/{name}" for name in tree.names("proc/sys/net/ipv4") if name.startswith("tcp_")]
    texts = {name: tree.text(f"proc/sys/{name}") for name in (*SYSCTLS, *tcp) if name not in NOT_SETTINGS}
    return {name.replace("/", "."): text for name, text in texts.items() if text is not None}
