"""What `trialwise analyze` says: claims, estimates and the numbers of every series."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.results import Analysis
from trialwise.report.answers import answer as best
from trialwise.report.beside import words_of
from trialwise.report.claim_writing import claims
from trialwise.report.claims import Claim
from trialwise.report.document import (
    Block,
    Code,
    Document,
    Heading,
    Items,
    Note,
    Standing,
    Text,
    Verdict,
)
from trialwise.report.documents.means import means_tables, means_told
from trialwise.report.estimation_text import duration_lines, estimate_blocks
from trialwise.report.many import MANY_METRICS
from trialwise.report.numbers import Number, counted
from trialwise.report.overview import MAX_SERIES, overview_tables, reasons
from trialwise.report.plan_tables import exclusion_table, failure_table, trials_text
from trialwise.report.plot_rows import labels
from trialwise.report.tables import left_out, result_tables
from trialwise.report.units import standing_alone

_MOST = 12
"""More sentences than this give way to an overview."""
_MAX_FAILURES = 12
"""Attempts without a result that the overview lists."""
_TILDE = "~ descriptive only: shown, but it says nothing about further trials, because a test failed"
_WORDS: dict[Standing, tuple[str, str]] = {
    "claim": ("claim holds", "claims hold"),
    "descriptive": ("description of these trials alone", "descriptions of these trials alone"),
    "refusal": ("claim cannot be had", "claims cannot be had"),
}


def document(
    analysis: Analysis,
    *,
    full: bool = False,
    awaited: Iterable[Block] = (),
    verdicts: VerdictSummary | None = None,
) -> Document:
    """Return an overview, or with `full` every sentence and table.

    `awaited`: what is known of claims that the run waits for; `verdicts`: those between treatments, which answer first where nothing
    is claimed.
    """
    sentences = claims(analysis)
    evidence = [*words_of(analysis).overview(full=full), *_estimation(analysis, full=full)]
    evidence += means_tables(analysis)
    is_short = len(sentences) <= _MOST
    if full or is_short:
        evidence += _sentences(sentences)
    if full or len(analysis.series) > MAX_SERIES:
        evidence += [table.without_remarks for table in result_tables(analysis)]
        evidence += [Note((text,)) for text in left_out(analysis)]
    else:
        evidence += _overview(analysis, is_explained=is_short)
    if not full and not is_short:
        evidence += _sentences([claim for claim in sentences if claim.standing == "remark"])
    failures = failure_table(analysis, None if full else _MAX_FAILURES)
    evidence += [] if failures is None else [failures.without_remarks]
    changed = exclusion_table(analysis, None if full else _MAX_FAILURES)
    evidence += [] if changed is None else [changed]
    return Document(
        "analyze",
        first_line(analysis, sentences, verdicts),
        (*evidence, *awaited),
        tuple(_method(analysis, sentences, full=full)),
    )


def asks_which_is_best(analysis: Analysis) -> bool:
    """Return True if nothing is claimed or estimated, so that the first question is which treatment is best."""
    is_claimed = any(found.metric.kpis or found.variability for found in analysis.metrics)
    return not (is_claimed or analysis.estimation or words_of(analysis).answer())


def first_line(analysis: Analysis, sentences: Sequence[Claim], verdicts: VerdictSummary | None) -> Verdict:
    """Return what came of the claims; where nothing is claimed, which treatment is best."""
    counts = answer(analysis, sentences)
    if verdicts is None or verdicts.stopping or not asks_which_is_best(analysis):
        return counts
    if (found := best(verdicts, labels(analysis))) is None:
        return counts
    outcome, said = found
    return Verdict(outcome, (f"{said}. ", *counts.text))


def answer(analysis: Analysis, sentences: Sequence[Claim]) -> Verdict:
    """Return how many trials there are, and what came of them in brief."""
    counts = {word: sum(claim.standing == word for claim in sentences) for word in _WORDS}
    told = [counted(counts[word], *nouns) for word, nouns in _WORDS.items() if counts[word]]
    if analysis.estimation is not None:
        told.append(counted(len(analysis.estimation.estimates), "estimate"))
    if means := means_told(analysis):
        told.insert(0, means)
    outcome = (
        "plain"
        if not any(counts.values())
        else "open"
        if counts["descriptive"] or counts["refusal"]
        else "good"
    )
    own = words_of(analysis).answer()
    text = f"{analysis.name}: {f'{own}. ' if own else ''}{trials_text(analysis)}"
    return Verdict(outcome, (f"{text}; {', '.join(told)}." if told else f"{text}.",))


def _method(analysis: Analysis, sentences: Sequence[Claim], *, full: bool) -> Iterator[Block]:
    methods = "the paper's methods" if analysis.method == "paper" else "default methods"
    shown = [claim for claim in sentences if full or len(sentences) <= _MOST]
    if any(claim.standing in ("descriptive", "refusal") for claim in shown):
        yield Note(("✓ holds   ~ descriptive only   ✗ no claim",))
    yield Note(
        (methods,)
        if full
        else (f"{methods}; all sentences and tables: ", Code("--full"), ", or ", Code("trialwise report"))
    )


def _notes(lines: Sequence[str]) -> Iterator[Block]:
    if lines:
        yield Items(tuple((line,) for line in lines), most=None)


def _estimation(analysis: Analysis, *, full: bool) -> Iterator[Block]:
    """Yield what is estimated from simulated trials, each number by its estimand."""
    found = analysis.estimation
    if found is None:
        return
    names = labels(analysis)
    yield Heading(("Estimates",))
    for table, remarks in estimate_blocks(found, names):
        yield replace(table, facts=tuple((remark,) for remark in remarks))
    yield from _notes((*found.notes, *found.remarks))
    if full:
        yield from _notes(list(duration_lines(found.durations, names)))


def _overview(analysis: Analysis, *, is_explained: bool) -> Iterator[Block]:
    """Yield one table for each objective; the reasons are left out where the sentences have explained them."""
    tables = overview_tables(analysis)
    yield from tables
    if is_explained:
        return
    is_marked = any(str(cell).startswith("~") for table in tables for row in table.rows for cell in row)
    why = reasons(analysis)
    more = [f"and {counted(len(why) - MANY_METRICS, 'more reason')}"] if len(why) > MANY_METRICS else []
    yield from _notes([*([_TILDE] if is_marked else []), *why[:MANY_METRICS], *more])


def _sentences(shown: Sequence[Claim]) -> Iterator[Block]:
    topic: tuple[str | None, str] = ("", "")
    for claim in shown:
        here = (claim.metric, claim.topic)
        if here != topic:
            topic = here
            yield Heading((_heading(claim),))
        yield sentence(claim)


def sentence(claim: Claim) -> Note:
    """Return a claim as a note with its standing."""
    return Note(_text(claim), claim.standing, is_aside=claim.standing == "remark")


def _heading(claim: Claim) -> str:
    if claim.metric is None:
        return claim.topic or "the course of the experiment"
    return f"{claim.metric}: {claim.topic}" if claim.topic else claim.metric


def _text(claim: Claim) -> Text:
    """Return a sentence whose numbers have the prefix that suits them."""
    return tuple(standing_alone(piece) if isinstance(piece, Number) else piece for piece in claim.pieces)
