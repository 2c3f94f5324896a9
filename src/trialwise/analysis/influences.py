"""What a difference between two machines or experiments may do to results: its rank, its block, and why it may matter.

The one table of these: `trialwise diff` and `trialwise compare` both rank by it. Rank 1 matters most.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Block = Literal["program", "machine", "state"]
BLOCKS: tuple[Block, ...] = ("program", "machine", "state")
Study = Literal["measured", "path", "computed"]
"""What ran: programs on a machine, flows over emulated or real paths, or computed trials, for which the machine does not matter."""

FIRST = 3
"""Differences of this rank or a lower one are named first, and decide the exit code of `trialwise diff`."""


@dataclass(frozen=True, slots=True)
class Influence:
    """What a difference may do: `rank` from 1, and the reason after "may matter because"."""

    rank: int
    block: Block
    why: str


@dataclass(frozen=True, slots=True)
class _Rule:
    names: str
    influence: Influence


def _rules() -> tuple[_Rule, ...]:
    plan = Influence(1, "program", "another plan, program or input is another experiment")
    hardware = Influence(2, "machine", "other hardware changes results by factors (Maricq et al., OSDI 2018)")
    place = Influence(
        3,
        "machine",
        "machines of one type differ, and one machine from boot to boot (Duplyakin et al., 2020)",
    )
    frequency = Influence(4, "state", "frequency and sleep states change conclusions about microseconds")
    load = Influence(5, "state", "other work on the machine slows trials down")
    limits = Influence(
        6, "state", "limits and remote memory typically cost tens of per cent where they are met"
    )
    rights = Influence(6, "state", "rights decide about priorities, locked memory and settings of sockets")
    network = Influence(7, "state", "queues, buffers and offloads change throughput and delay")
    kernel = Influence(
        8, "machine", "the kernel, its mitigations and its file systems change the cost of system calls"
    )
    runtime = Influence(
        9, "machine", "allocators and defaults of libraries and runtimes change between versions"
    )
    layout = Influence(
        10, "state", "the layout of memory shifts results by a few per cent (Mytkowicz et al., ASPLOS 2009)"
    )
    clock = Influence(11, "state", "clocks affect what is measured, seldom the program")
    naming = Influence(11, "program", "names and descriptions do not reach the trials")
    pairs = (
        (r"plan\.experiment\.(name|description|title)", naming),
        (r"(plan|program|build|git)(\..*)?", plan),
        (r"library(\..*)?", runtime),
        (r"variable\.(LANG|LC_.*|PATH|HOME|.*_CERTS?(_.*)?)", layout),
        (r"variable\.TZ", clock),
        (r"variable\.(LD|OMP|MKL|OPENBLAS|GLIBC|MALLOC|PYTHON|JAVA|JDK|GO|RUST|NODE)_?.*", runtime),
        (r"variable(\..*)?", layout),
        (r"limit(\..*)?", limits),
        (r"rights\..*", rights),
        (r"processor\.(governor|driver|turbo|throttled|frequency_.*|energy_.*|idle_.*)", frequency),
        (r"processor\.isolated", load),
        (r"(processor|cpu|num_cpus|goarch|ProcessorName)\b.*|machine\.(architecture|memory.*)", hardware),
        (r"devices\.disk\.(scheduler|requests|read_ahead|write_cache)", kernel),
        (r"devices\.(disk|gpu)\..*", hardware),
        (r"devices\.network\.\d+\.(driver|identifiers|speed|duplex)", hardware),
        (r"devices\.network\.\d+\.interface", naming),
        (r"(machine\.(identity|boot_id|virtual_machine|container)|host|node)\b.*", place),
        (r"machine\.steal", place),
        (r"machine\.(load|interrupts_cpus)", load),
        (r"machine\.(numa.*|swap.*|huge_pages.*|pages_merged)|kernel\.transparent_huge_pages", limits),
        (r"kernel\.sysctls\.(kernel\.numa_balancing|vm\..*)", limits),
        (r"kernel\.sysctls\.net\..*|devices\.network.*", network),
        (r"kernel\.aslr|layout\..*", layout),
        (r"kernel\.clock_source|clock\..*", clock),
        (r"(kernel|goos|devices\.file_system)\b.*", kernel),
        (r"(python|libc|distribution|runtime)\b.*", runtime),
        (r"machine\.hostname", clock),
    )
    return tuple(_Rule(names, influence) for names, influence in pairs)


_RULES = tuple((re.compile(rule.names), rule.influence) for rule in _rules())
_UNKNOWN = Influence(11, "state", "what it does to results is not known")
_END = re.compile(
    r"ends\..*?\.(?=(machine|processor|kernel|devices|python|libc|distribution|runtime|limit|rights|layout|clock|programs|interface)\b)"
)
_AT_END = (
    (re.compile(r"programs\..*"), Influence(1, "program", "another program at an end is another experiment")),
    (
        re.compile(r"interface\..*"),
        Influence(7, "state", "queues, buffers and offloads change throughput and delay"),
    ),
)
_OF_COMPUTED = re.compile(r"(plan|program|library|build|python)(\..*)?")


def influence_of(name: str, study: Study = "measured") -> Influence | None:
    """Return what a difference in a fact may do to the results; None where it cannot reach them.

    Parameters
    ----------
    name
        Dotted name of the fact, as `trialwise.analysis.environments.facts_of` gives it; ends of paths begin with ``ends.NAME``.
    study
        The network matters more over paths; of computed trials, only plan, program and libraries matter.
    """
    if study == "computed":
        if _OF_COMPUTED.fullmatch(name) is None:
            return None
        return _matched(name)
    found = _matched(name)
    if study == "path" and found.rank == 7:
        return Influence(2, found.block, found.why)
    return found


def _matched(name: str) -> Influence:
    if (end := _END.match(name)) is not None:
        name = name[end.end() :]
        for pattern, influence in _AT_END:
            if pattern.fullmatch(name):
                return influence
    return next((influence for pattern, influence in _RULES if pattern.fullmatch(name)), _UNKNOWN)
