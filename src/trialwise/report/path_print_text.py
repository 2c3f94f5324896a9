"""The first page of the printed report: what ran, where and how often."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from matplotlib.figure import Figure

from trialwise.analysis.path.results import PathAnalysis
from trialwise.analysis.results import Analysis
from trialwise.report.numbers import counted
from trialwise.report.path_sentences import invalid_sentences
from trialwise.report.tables import moment

_LINE = 0.016
"""Height of a line of text, as a share of a page."""


def title_page(analysis: Analysis, version: str, size: tuple[float, float]) -> Figure:
    """What ran, where and how often."""
    figure = Figure(figsize=size)
    figure.text(0.08, 0.94, analysis.name, fontsize=18, va="top")
    height = 0.89
    if analysis.description:
        height = _paragraph(figure, height, analysis.description, 9)
    for name, text in _facts(analysis, version):
        figure.text(0.08, height, name, fontsize=8, va="top", fontweight="bold")
        height = _paragraph(figure, height, text, 8, left=0.28, width=88)
    return figure


def _paragraph(
    figure: Figure, height: float, text: str, size: float, *, left: float = 0.08, width: int = 110
) -> float:
    """Write a text from a height on, no more than what fits; the height below it."""
    room = max(1, int((height - 0.05) / _LINE))
    lines = [line for part in text.split("\n") for line in textwrap.wrap(part, width)] or [""]
    cut = (
        lines
        if len(lines) <= room
        else [*lines[: room - 1], f"… {len(lines) - room + 1} more lines: in the HTML report"]
    )
    figure.text(left, height, "\n".join(cut), fontsize=size, va="top", linespacing=1.35)
    return height - _LINE * (len(cut) + 0.6)


def _facts(analysis: Analysis, version: str) -> Iterator[tuple[str, str]]:
    path = analysis.path
    if path is not None:
        yield from _flows(path)
    else:
        yield "treatments", ", ".join(analysis.treatments)
        if analysis.plan is not None:
            yield "trial", analysis.plan.command
    yield from _repeats(analysis)
    if path is not None:
        yield from _paths(path)
    yield from _machines(analysis)
    if invalid := list(invalid_sentences(analysis)):
        yield "not valid", "\n".join(invalid).replace("✕", "x")
    if path is not None:
        yield "delays", "of one clock: both ends run on this machine"
    yield "written by", f"Trialwise {version}"


def _flows(path: PathAnalysis) -> Iterator[tuple[str, str]]:
    yield "flows", f"{counted(path.flows, 'flow')} in each trial, {path.runtime:g} s long"
    titles = ", ".join(f"{scheme.name} ({scheme.title})" for scheme in path.schemes)
    yield (
        "schemes",
        titles or ", ".join(dict.fromkeys(name for found in path.treatments for name in found.schemes)),
    )


def _repeats(analysis: Analysis) -> Iterator[tuple[str, str]]:
    plan = analysis.plan
    if plan is None:
        return
    valid = (
        f"{sum(found.trials for found in analysis.path.treatments)} valid"
        if analysis.path
        else f"{analysis.counts.get('finished', 0)} finished"
    )
    repeats = (
        f"{counted(plan.rounds, 'round')} in {len(analysis.series)} series, order {plan.order}, seed {analysis.seed}; "
        f"{counted(analysis.planned, 'trial')}, {valid}"
    )
    yield "repeats", repeats
    if plan.warmup:
        yield "cut", f"the first {plan.warmup:g} s of each trial"


def _paths(path: PathAnalysis) -> Iterator[tuple[str, str]]:
    ways: dict[str, list[str]] = {}
    for found in path.paths:
        same = found.uplink == found.downlink
        text = f"both ways: {found.uplink}" if same else f"uplink: {found.uplink}\ndownlink: {found.downlink}"
        text += f"\nMTU {found.mtu} B" + (f"; {found.source}" if found.source else "")
        ways.setdefault(text, []).append(found.treatment)
    for text, who in ways.items():
        yield "path", text if len(ways) == 1 else f"{text}\nof {', '.join(who)}"


def _machines(analysis: Analysis) -> Iterator[tuple[str, str]]:
    """Each different machine once, as its sessions recorded it, and when it ran."""
    seen: dict[str, list[float]] = {}
    for session in analysis.sessions:
        seen.setdefault(_machine(session.environment), []).append(session.record.started)
    for text, moments in seen.items():
        yield "machine", f"{text}\nfrom {moment(min(moments))} UTC"


_MACHINE: Mapping[str, tuple[str, ...]] = {
    "processor": ("processor", "model"),
    "CPUs": ("processor", "cpus"),
    "governor": ("processor", "governor"),
    "bytes of memory": ("machine", "memory"),
    "kernel": ("kernel", "release"),
    **{
        name: ("kernel", "sysctls", name)
        for name in (
            "net.core.default_qdisc",
            "net.ipv4.tcp_congestion_control",
            "net.ipv4.tcp_rmem",
            "net.ipv4.tcp_wmem",
        )
    },
}
"""What is said of a machine on the title page; all that was recorded stands in the HTML report."""


def _machine(environment: Mapping[str, object]) -> str:
    found = ((name, _at(environment, place)) for name, place in _MACHINE.items())
    return (
        ", ".join(f"{name} {' '.join(str(value).split())}" for name, value in found if value is not None)
        or "not recorded"
    )


def _at(value: object, names: Sequence[str]) -> object:
    """What stands below some names in nested mappings; None where there is nothing."""
    for name in names:
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, object]", value).get(name)
    return value
