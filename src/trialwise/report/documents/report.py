"""What a report holds: claims, estimates, figures, verdicts, when to stop, the order, tables, the plan, the environment, failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.order.summary import OrderSummary
from trialwise.analysis.results import Analysis, MetricAnalysis, TrialFailure
from trialwise.report.beside import Words, words_of
from trialwise.report.claim_writing import claims
from trialwise.report.claims import Claim
from trialwise.report.document import (
    Block,
    Chapter,
    Code,
    Details,
    Document,
    Figures,
    Heading,
    Listing,
    Name,
    Note,
    Table,
    plain,
)
from trialwise.report.documents import analyze, estimates, order_page, stopping
from trialwise.report.documents import verdicts as comparisons
from trialwise.report.documents.means import means_tables
from trialwise.report.documents.methods import methods
from trialwise.report.figures.metric import figures
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import styles
from trialwise.report.figures.together import Pair, together_figures
from trialwise.report.many import MANY_METRICS
from trialwise.report.notes import method_notes
from trialwise.report.numbers import counted
from trialwise.report.plan_tables import (
    change_table,
    design_table,
    environment_tables,
    exclusion_table,
    failure_table,
    objective_table,
    population_table,
    session_table,
)
from trialwise.report.plot_rows import factor_names, labels
from trialwise.report.tables import (
    independence_tables,
    intervals_left_out,
    kpi_tables,
    untested_series,
)
from trialwise.report.trial_tables import MAX_ROWS, convergence_tables, trial_table

_MOST = 30
"""Of more remarks, so many are shown."""
_OPEN = 2
"""More sentences on one objective than this are folded: the table above has their numbers."""
_LONG = 60
"""A table of more rows is folded."""
_MAX_TAILS = 30
"""Of more attempts without a result, the ends of so many logs are shown."""


def document(
    analysis: Analysis,
    sheets: dict[str, ColumnData],
    order: OrderSummary | None = None,
    verdicts: VerdictSummary | None = None,
    pairs: str = "",
    planes: Sequence[Pair] = (),
) -> Document:
    """Return everything, the methods last; figures put their data into `sheets`.

    `pairs` is a table (CSV) of all pairs of treatments that `verdicts` compares, which is attached; `planes` are pairs of metrics
    whose KPIs span a plane, by default those of `together_figures`.
    """
    sentences, called = claims(analysis), labels(analysis)
    words = words_of(analysis, sheets)
    beside = tuple(words.chapters())
    drawn = [
        *words.figures(),
        *(
            Figures(found.metric.name, tuple(figures(analysis, found, sheets)))
            for found in drawn_metrics(analysis)
        ),
        Figures("Metrics together", tuple(together_figures(analysis, sheets, planes))),
    ]
    first, drawn = ((), drawn) if beside or analysis.estimation else _first(drawn)
    chapters = (
        *beside,
        _claims(analysis, sentences),
        *_estimates(analysis, called, sheets),
        Chapter("figures", "Figures", tuple(_figures(analysis, drawn))),
        *_verdicts(verdicts, sheets, called, pairs),
        *(
            [order_page.document(order, sheets, called).as_chapter("Order", order_page.PLACE)]
            if order
            else ()
        ),
        Chapter("tables", "Tables", tuple(_tables(analysis, words))),
        Chapter(
            "plan",
            "Plan",
            _present(objective_table(analysis), design_table(analysis), population_table(analysis)),
        ),
        *_environment(analysis),
        *_changes(analysis),
        *_failures(analysis),
    )
    answer = analyze.first_line(analysis, sentences, verdicts)
    method = methods(method_notes(analysis, order, verdicts, words.notes()))
    return Document("report", answer, (*first, *chapters), (method,))


def _present(*tables: Table | None) -> tuple[Table, ...]:
    return tuple(table for table in tables if table is not None and table.rows)


# Claims, estimates


def _claims(analysis: Analysis, sentences: Sequence[Claim]) -> Chapter:
    """Return the numbers that are claimed and the sentences, by metric and objective; then what is to be known of the experiment."""
    blocks: list[Block] = [*means_tables(analysis)]
    tables = {found.metric.name: kpi_tables(analysis, place) for place, found in enumerate(analysis.metrics)}
    for metric, members in groupby(
        (one for one in sentences if one.metric is not None), lambda one: one.metric
    ):
        blocks += [Heading((Name(metric or ""),)), *tables.get(metric or "", ())]
        blocks += [_topic(title, tuple(topic)) for title, topic in groupby(members, lambda one: one.topic)]
    blocks += [Note((text,)) for text in intervals_left_out(analysis)]
    remarks = [claim for claim in sentences if claim.metric is None]
    for title, members in groupby(remarks, lambda one: one.topic):
        own = list(members)
        blocks.append(Heading((title.capitalize() or "The course of the experiment",)))
        blocks += [analyze.sentence(claim) for claim in own[:_MOST]]
        blocks += _more(len(own) - _MOST)
    return Chapter("claims", "Claims", tuple(blocks))


def _topic(title: str, members: tuple[Claim, ...]) -> Details:
    words = {"claim": "hold", "descriptive": "descriptive only", "refusal": "cannot be had"}
    counts = {word: sum(claim.standing == standing for claim in members) for standing, word in words.items()}
    summary = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return Details(
        title or "No objective", tuple(map(analyze.sentence, members)), summary, len(members) <= _OPEN
    )


def _more(count: int) -> Iterator[Note]:
    if count > 0:
        yield Note((f"… and {count} more: ", Code("trialwise analyze --full"), " has all."))


def _estimates(
    analysis: Analysis, called: Mapping[str, str], sheets: dict[str, ColumnData]
) -> Iterator[Chapter]:
    if analysis.estimation is not None:
        yield estimates.document(analysis.estimation, styles(analysis), called, sheets).as_chapter(
            "Estimates"
        )


# Figures, verdicts, tables


def _first(drawn: Sequence[Figures]) -> tuple[tuple[Figures, ...], list[Figures]]:
    """Return the figure that answers most, that of a KPI if there is one; and the groups without it."""
    every = [figure for group in drawn for figure in group.figures]
    if not every:
        return (), list(drawn)
    first = next((figure for figure in every if figure.key.startswith("kpi")), every[0])
    rest = [
        replace(group, figures=tuple(one for one in group.figures if one is not first)) for group in drawn
    ]
    return (Figures("", (first,)),), rest


def drawn_metrics(analysis: Analysis) -> list[MetricAnalysis]:
    """Return the metrics of which a page has figures: of many the first, those with a KPI before the others."""
    return (
        sorted(analysis.metrics, key=lambda found: not found.metric.kpis)[:MANY_METRICS]
        if len(analysis.metrics) > MANY_METRICS
        else list(analysis.metrics)
    )


def _figures(analysis: Analysis, drawn: Iterable[Figures]) -> Iterator[Block]:
    if named := factor_names(analysis):
        yield Note((f"Figures call a treatment by its levels: {' · '.join(named)}.",))
    if (left := len(analysis.metrics) - MANY_METRICS) > 0:
        yield Note(
            (
                f"{MANY_METRICS} metrics are drawn, those with a KPI first; the trials and tests of independence of the other {left} ",
                "stand in ",
                Code("trialwise analyze --json"),
                ".",
            )
        )
    yield from (group for group in drawn if group.figures)


def _verdicts(
    view: VerdictSummary | None, sheets: dict[str, ColumnData], called: Mapping[str, str], pairs: str
) -> Iterator[Chapter]:
    """Yield verdicts, whose numbers stand in no JSON document of an analysis, and when to stop."""
    if view is None:
        return
    if (found := comparisons.document(view, sheets, called, pairs)) is not None:
        yield found.as_chapter("Verdicts", place="")
    if view.stopping is not None:
        yield stopping.document(view.stopping, view.lifts).as_chapter("When to stop")


def _tables(analysis: Analysis, words: Words) -> Iterator[Block]:
    drawn = {found.metric.name for found in drawn_metrics(analysis)}
    yield from (*words.tables(), *independence_tables(analysis, drawn))
    yield from (Note((text,)) for text in untested_series(analysis))
    for table in (*convergence_tables(analysis), trial_table(analysis, drawn)):
        rows = counted(len(table.rows), "row")
        yield Details(plain(table.caption), (table,), rows, is_open=len(table.rows) <= _LONG)


# The environment, failures


def _environment(analysis: Analysis) -> Iterator[Chapter]:
    if sessions := _present(session_table(analysis)):
        recorded = (Details(plain(table.caption), (table,)) for table in environment_tables(analysis))
        yield Chapter("environment", "Environment", (*sessions, *recorded))


def _changes(analysis: Analysis) -> Iterator[Chapter]:
    if table := _present(change_table(analysis, MAX_ROWS)):
        yield Chapter("changes", "Changes on the way", tuple(table))


def _failures(analysis: Analysis) -> Iterator[Chapter]:
    table = failure_table(analysis, MAX_ROWS)
    if table is not None:
        tails = (_tail(failure) for failure in [one for one in analysis.failures if one.tail][:_MAX_TAILS])
        yield Chapter("failures", "Failures", (table, *_present(exclusion_table(analysis, MAX_ROWS)), *tails))


def _tail(failure: TrialFailure) -> Details:
    where = f"trial {failure.number}, {failure.treatment}"
    return Details(f"End of {failure.log}", (Listing(tuple(failure.tail)),), where)
