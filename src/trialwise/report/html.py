"""The report as one HTML file that opens from disk without a network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from trialwise.analysis.comparison.between import VerdictView
from trialwise.analysis.order_view import OrderView
from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.report.claim_writing import claims
from trialwise.report.claims import Claim, Piece
from trialwise.report.document import Table, plain
from trialwise.report.estimation_section import estimation_section
from trialwise.report.figures.board import Figure
from trialwise.report.figures.looks import looks
from trialwise.report.figures.metric import figures
from trialwise.report.figures.paths import MOST_PLANES, PathBoard, course_figures, plane_figures
from trialwise.report.figures.sheets import Sheet
from trialwise.report.notes import method_notes
from trialwise.report.numbers import Number
from trialwise.report.order_section import order_section
from trialwise.report.page_parts import asset, bundle, script_json
from trialwise.report.path_sentences import invalid_sentences, path_lead
from trialwise.report.path_tables import path_tables
from trialwise.report.plan_tables import (
    design_table,
    environment_tables,
    failure_table,
    objective_table,
    population_table,
    session_table,
    trials_text,
)
from trialwise.report.points import factor_names, labels
from trialwise.report.render.html import html_text, table_html, unbroken
from trialwise.report.section import MOST_LINES
from trialwise.report.stopping_section import stopping_section
from trialwise.report.tables import result_tables
from trialwise.report.trial_tables import MOST_ROWS, convergence_tables, trial_table
from trialwise.report.units import standing_alone
from trialwise.report.verdict_section import verdict_section
from trialwise.visible import visible_lines

_OPEN = 12
"""More sentences on one objective than this are folded."""
_MOST_TAILS = 30
"""Of more attempts without a result, the ends of so many logs are shown."""


@dataclass(frozen=True, slots=True)
class Topic:
    """The sentences that answer one objective."""

    title: str
    sentences: tuple[Claim, ...]
    summary: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class MetricSection:
    """What the report shows of one metric."""

    name: str
    topics: tuple[Topic, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class PathSection:
    """What the report shows of paths: the planes on top, trials over time and delays among the figures, and what to know."""

    planes: tuple[Figure, ...]
    course: tuple[Figure, ...]
    lead: str
    invalid: tuple[str, ...]
    notes: tuple[str, ...]


def html_report(
    analysis: Analysis,
    version: str,
    order: OrderView | None = None,
    verdicts: VerdictView | None = None,
    pairs: str = "",
) -> str:
    """Write the report; the same arguments give the same text.

    `pairs` is a table (CSV) of all pairs of treatments that `verdicts` compares, which stands in the page as a file.
    """
    sentences = claims(analysis)
    sheets: dict[str, Sheet] = {}
    remarks = [claim for claim in sentences if claim.standing == "remark"]
    sections = [_section(analysis, found, sentences, sheets) for found in analysis.metrics]
    path = _path_section(analysis, sheets)
    shown = [*(path.planes if path else ()), *(path.course if path else ())]
    shown += [figure for section in sections for figure in section.figures]
    ordering = order and order_section(order, sheets, labels(analysis))
    estimated = analysis.estimation and estimation_section(
        analysis.estimation, looks(analysis), labels(analysis), sheets
    )
    judged = verdicts and verdict_section(verdicts, sheets, labels(analysis), pairs)
    shown += [figure for section in (estimated, judged, ordering) if section for figure in section.figures]
    specs = {figure.key: figure.spec for figure in shown}
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            analysis=analysis,
            trials=trials_text(analysis),
            version=version,
            sections=sections,
            path=path,
            order=ordering,
            estimation=estimated,
            verdicts=judged,
            stopping=verdicts and verdicts.stopping and stopping_section(verdicts.stopping, verdicts.lifts),
            named_by=factor_names(analysis),
            remarks=remarks[:MOST_LINES],
            more_remarks=max(0, len(remarks) - MOST_LINES),
            tables=[*path_tables(analysis), *result_tables(analysis)],
            long_tables=[*convergence_tables(analysis), trial_table(analysis)],
            plan=_present(objective_table(analysis), design_table(analysis), population_table(analysis)),
            sessions=_present(session_table(analysis)),
            environments=environment_tables(analysis),
            failures=failure_table(analysis, MOST_ROWS),
            tails=[failure for failure in analysis.failures if failure.tail][:_MOST_TAILS],
            notes=method_notes(analysis, order, verdicts),
            specs=script_json(specs),
            sheets=script_json(sheets),
            bundle=Markup(bundle()),  # noqa: S704 the bundle is Vega's, and a test sees that it closes no script
            script=Markup(asset("report.js")),  # noqa: S704 our own
            style=Markup(asset("report.css")),  # noqa: S704 our own
        )
    )


def _section(
    analysis: Analysis, found: MetricAnalysis, sentences: tuple[Claim, ...], sheets: dict[str, Sheet]
) -> MetricSection:
    name = found.metric.name
    topics: dict[str, list[Claim]] = {}
    for claim in sentences:
        if claim.metric == name:
            topics.setdefault(claim.topic, []).append(claim)
    made = tuple(_topic(title, tuple(members)) for title, members in topics.items())
    return MetricSection(name, made, tuple(figures(analysis, found, sheets)))


def _path_section(analysis: Analysis, sheets: dict[str, Sheet]) -> PathSection | None:
    if analysis.path is None:
        return None
    board = PathBoard(analysis, analysis.path, sheets)
    left_out = sum(bool(plane.trials) for plane in analysis.path.planes) - MOST_PLANES
    more = (
        [f"{left_out} further planes are not drawn; their numbers stand in the tables"]
        if left_out > 0
        else []
    )
    return PathSection(
        planes=tuple(plane_figures(board)),
        course=tuple(course_figures(board)),
        lead=path_lead(analysis.path),
        invalid=tuple(invalid_sentences(analysis)),
        notes=(*analysis.path.notes, *more),
    )


def _topic(title: str, members: tuple[Claim, ...]) -> Topic:
    words = {"claim": "hold", "descriptive": "descriptive only", "refusal": "cannot be had"}
    counts = {word: sum(claim.standing == standing for claim in members) for standing, word in words.items()}
    summary = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return Topic(title, members, summary, len(members) <= _OPEN)


def _present(*tables: Table | None) -> list[Table]:
    return [table for table in tables if table is not None and table.rows]


# Pieces of text


def piece_html(piece: Piece) -> Markup:
    """A word, a name or a number as HTML; a number stands in the unit that suits it."""
    return html_text(standing_alone(piece) if isinstance(piece, Number) else piece)


def claim_html(claim: Claim) -> Markup:
    """A sentence as HTML."""
    return Markup("").join(piece_html(piece) for piece in claim.pieces)


# Parts of the page


def _harmless(value: object) -> object:
    """A value of a template, foreign characters that a page would act on as escapes."""
    return visible_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def environment() -> Environment:
    """Templates with what pages share."""
    made = Environment(
        loader=PackageLoader("trialwise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    made.filters["claim"] = claim_html
    made.filters["table"] = table_html
    made.filters["plain"] = plain
    made.filters["unbroken"] = unbroken
    return made
