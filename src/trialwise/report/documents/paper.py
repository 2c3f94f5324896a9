"""What the printed report holds: what ran, figures, tables, and of paths each trial over time, like the report of Pantheon.

The planes of Pantheon's report have both variants: every run, and the mean of the runs of each scheme (Yan and others, USENIX ATC
2018); ours, with regions of stated confidence, comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.path.results import PathAnalysis
from trialwise.analysis.results import Analysis
from trialwise.report.claim_writing import claims
from trialwise.report.document import Block, Chapter, Document, Figures, Note, table_of
from trialwise.report.documents import analyze, estimates, stopping
from trialwise.report.figures.path_harm import harm_figures
from trialwise.report.figures.path_plane import plane_name
from trialwise.report.figures.paths import PathBoard, delays_figure, over_time_figures, printed_planes
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import styles
from trialwise.report.numbers import counted, write
from trialwise.report.path_sentences import invalid_sentences
from trialwise.report.path_tables import path_paper_tables, path_tables
from trialwise.report.plan_tables import failure_table
from trialwise.report.plot_rows import labels
from trialwise.report.tables import moment
from trialwise.report.trial_tables import MAX_ROWS

MAX_TRIALS = 400
"""So many trials are drawn over time."""


def has_document(analysis: Analysis) -> bool:
    """Return whether there is a printed report: of experiments over paths and of what is estimated."""
    return analysis.path is not None or analysis.estimation is not None


def document(
    analysis: Analysis, sheets: dict[str, ColumnData], version: str, verdicts: VerdictSummary | None = None
) -> Document:
    """Return the printed report; figures put their data into `sheets`, of `verdicts` it has what the experiment waits for."""
    facts = table_of("facts", "", ("", ""), list(_facts(analysis, version)))
    context = PathBoard(analysis, analysis.path, sheets) if analysis.path else None
    chapters = (
        *([Chapter("harm", "Who harms whom", tuple(_harm(context)))] if context else ()),
        *([Chapter("plane", "Throughput and delay", tuple(_planes(context)))] if context else ()),
        *_estimates(analysis, sheets),
        *_stopping(verdicts),
        Chapter("tables", "Tables", tuple(_tables(analysis))),
        *([Chapter("trials", "Trials over time", tuple(_courses(context)))] if context else ()),
    )
    kept = (chapter for chapter in chapters if chapter.blocks)
    description = (Note((analysis.description,)),) if analysis.description else ()
    return Document("report", analyze.answer(analysis, claims(analysis)), (*description, facts, *kept))


# Chapters


def _harm(context: PathBoard) -> Iterator[Block]:
    harm = context.path.harm
    if harm is not None:
        yield Figures("", tuple(harm_figures(harm, context.sheets, printed=True)))


def _planes(context: PathBoard) -> Iterator[Block]:
    for plane, figures in printed_planes(context):
        yield Figures(plane_name(plane), figures)


def _estimates(analysis: Analysis, sheets: dict[str, ColumnData]) -> Iterator[Chapter]:
    if analysis.estimation is not None:
        found = estimates.document(analysis.estimation, styles(analysis), labels(analysis), sheets)
        yield found.as_chapter("Estimates")


def _stopping(verdicts: VerdictSummary | None) -> Iterator[Chapter]:
    if verdicts is not None and verdicts.stopping is not None:
        yield stopping.document(verdicts.stopping, verdicts.lifts).as_chapter("When to stop")


def _tables(analysis: Analysis) -> Iterator[Block]:
    yield from path_paper_tables(analysis)
    yield from (table for table in path_tables(analysis) if table.key == "emulator")
    if (failures := failure_table(analysis, MAX_ROWS)) is not None:
        yield failures.without_remarks  # exit codes and names of logs are no sentences


def _courses(context: PathBoard) -> Iterator[Block]:
    delays = delays_figure(context)
    drawn = [delays] if delays else []
    shown = sorted(context.path.series[:MAX_TRIALS], key=lambda series: (series.number, series.attempt))
    for series in shown:
        drawn += over_time_figures(context, series)
    if drawn:
        yield Figures("", tuple(drawn))


# What ran


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
        yield "not valid", "\n".join(invalid)
    if path is not None:
        yield "delays", "of one clock: both ends run on this machine"
    yield "written by", f"Trialwise {version}"


def _flows(path: PathAnalysis) -> Iterator[tuple[str, str]]:
    yield "flows", f"{counted(path.flows, 'flow')} in each trial, {write(path.runtime)} s long"
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
        yield "cut", f"the first {write(plan.warmup)} s of each trial"


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
    """Yield each different machine once, as its sessions recorded it, and when it ran."""
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
    """Return what stands below some names in nested mappings; None where there is nothing."""
    for name in names:
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, object]", value).get(name)
    return value
