"""The pages of the printed report that hold text: the title, and tables."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from matplotlib.figure import Figure

from trialwise.analysis.path_results import PathAnalysis
from trialwise.analysis.results import Analysis
from trialwise.report.claims import Term
from trialwise.report.numbers import Number, counted
from trialwise.report.path_sentences import invalid_sentences
from trialwise.report.path_tables import path_paper_tables, path_tables
from trialwise.report.plan_tables import failure_table
from trialwise.report.tables import Cell, Table, moment

_LINE = 0.016
"""Height of a line of text, as a share of a page."""
_ROW, _TOP, _FOOT = 0.025, 0.95, 0.03
_ROWS = 28
_LONGEST = 60
_MOST_REMARKS = 8


def title_page(analysis: Analysis, path: PathAnalysis, version: str, size: tuple[float, float]) -> Figure:
    """What ran, where and how often."""
    figure = Figure(figsize=size)
    figure.text(0.08, 0.94, analysis.name, fontsize=18, va="top")
    height = 0.89
    if analysis.description:
        height = _paragraph(figure, height, analysis.description, 9)
    for name, text in _facts(analysis, path, version):
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


def _facts(analysis: Analysis, path: PathAnalysis, version: str) -> Iterator[tuple[str, str]]:
    plan = analysis.plan
    yield "flows", f"{counted(path.flows, 'flow')} in each trial, {path.runtime:g} s long"
    titles = ", ".join(f"{scheme.name} ({scheme.title})" for scheme in path.schemes)
    yield (
        "schemes",
        titles or ", ".join(dict.fromkeys(name for found in path.treatments for name in found.schemes)),
    )
    if plan is not None:
        repeats = (
            f"{counted(plan.rounds, 'round')} in {len(analysis.series)} series, order {plan.order}, seed {analysis.seed}; "
            f"{counted(analysis.planned, 'trial')}, {sum(found.trials for found in path.treatments)} valid"
        )
        yield "repeats", repeats
        if plan.warmup:
            yield "cut", f"the first {plan.warmup:g} s of each trial"
    yield from _paths(path)
    yield from _machines(analysis)
    if invalid := list(invalid_sentences(analysis)):
        yield "not valid", "\n".join(invalid).replace("✕", "x")
    yield "delays", "of one clock: both ends run on this machine"
    yield "written by", f"Trialwise {version}"


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


# Tables


def table_pages(analysis: Analysis, size: tuple[float, float]) -> Iterator[Figure]:
    """Tables one below the other on landscape pages; those that are longer than a page go on."""
    tables = [
        *path_paper_tables(analysis),
        *(table for table in path_tables(analysis) if table.key == "emulator"),
    ]
    failures = failure_table(analysis)
    if failures is not None:
        tables.append(failures)
    figure, height = Figure(figsize=size), _TOP
    for part in (part for table in tables for part in _parts(table)):
        needed = _ROW * (len(part.rows) + 1) + _ROW * 3 + _ROW * len(_remarks(part))
        if height - needed < _FOOT and height < _TOP:
            yield figure
            figure, height = Figure(figsize=size), _TOP
        _draw(figure, part, height)
        height -= needed + _ROW
    if height < _TOP:
        yield figure


def _parts(table: Table) -> Iterator[Table]:
    for start in range(0, len(table.rows), _ROWS):
        yield dataclasses.replace(table, rows=table.rows[start : start + _ROWS])


def _remarks(table: Table) -> list[str]:
    """What the rows' remarks say, each once, as lines below the table."""
    said = dict.fromkeys(_text(row[place]) for row in table.rows for place in sorted(table.remarks))
    return [line for text in said if text for line in textwrap.wrap(text, 190)][:_MOST_REMARKS]


def _draw(figure: Figure, table: Table, top: float) -> None:
    figure.text(0.04, top, "\n".join(textwrap.wrap(table.caption, 170)), fontsize=8.5, va="top")
    shown = table.without_remarks
    texts = [[_cut(_text(cell)) for cell in row] for row in shown.rows]
    heads = list(shown.columns)
    widths = [max(len(row[place]) for row in [heads, *texts]) + 2 for place in range(len(heads))]
    height = _ROW * (len(texts) + 1)
    begin = top - 2 * _ROW
    axes = figure.add_axes((0.04, begin - height, min(0.92, 0.0062 * sum(widths)), height))
    axes.axis("off")
    drawn = axes.table(
        cellText=texts,
        colLabels=heads,
        bbox=(0, 0, 1, 1),  # pyright: ignore[reportArgumentType] its stub wants a Bbox
        colWidths=[width / sum(widths) for width in widths],
        edges="horizontal",
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(min(7.0, 7.0 * 150 / max(sum(widths), 150)))
    for (_, column), cell in drawn.get_celld().items():
        cell.set_linewidth(0.3)
        cell.set_text_props(ha="right" if column in shown.numeric else "left")
    for place, line in enumerate(_remarks(table)):
        figure.text(0.04, begin - height - _ROW * (place + 0.5), line, fontsize=6.5, va="top")


def _text(cell: Cell) -> str:
    return cell.text if isinstance(cell, Number | Term) else cell


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
