"""What `trialwise effects --method paper` says: the OML study's steps, and tables like its Tables 3 and 4."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf, isnan

from trialwise.analysis.effects.paper import stars
from trialwise.analysis.effects.paper_results import PaperEffects, PaperMetric, PaperTerm
from trialwise.numbers import scientific
from trialwise.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Heading,
    Items,
    Name,
    Note,
    Table,
    Text,
    Verdict,
)
from trialwise.report.documents.effects import OUTCOMES
from trialwise.report.numbers import ABSENT, Number, counted, decimals, given, write
from trialwise.wording.effects import part_text, sentence

_LEVEL = 0.05
_MOST = 20
_LEGEND = "Significance level: * 0.05, ** 0.01, *** 0.001"


def document(found: PaperEffects) -> Document:
    """Return the verdict, what it is worth, and each metric and part step by step."""
    worth = [found.worth, *([f"Warning: {found.warning}"] if found.warning else []), *found.notes]
    notes = (Note((note,), is_aside=True) for note in worth)
    method = Note((Name(found.source), ": the OML study's procedure, ", given(found.confidence)))
    evidence = (block for one in found.results for block in _metric(one))
    return Document(
        "effects", Verdict(OUTCOMES[found.verdict], (f"{sentence(found)}.",)), (*notes, *evidence), (method,)
    )


def _metric(one: PaperMetric) -> Iterator[Block]:
    unit = f" ({one.unit})" if one.unit else ""
    yield Heading(
        (f"{part_text(one)}{unit}: {counted(one.n, 'sample')} of {counted(one.n_trials, 'trial')}",)
    )
    yield Items((*((note,) for note in one.notes), *_steps(one)), most=None)
    if not one.refusal:
        yield _table3(one)
        yield from _table4(one)


def _steps(one: PaperMetric) -> Iterator[Text]:
    yield (f"1 turning points: {_turns(one)}",)
    yield (f"2 resampling with replacement: {'every series' if one.resampled else 'left out (--resample)'}",)
    if one.refusal:
        yield (f"no inference: {one.refusal}",)
        return
    said = _p(one.breusch_pagan_p)
    equals = "p " if said.startswith("<") else "p = "
    yield ("3 Breusch-Pagan: ", Number(one.breusch_pagan), f", d.f. {one.breusch_pagan_df}, {equals}{said}")
    low = sum(cell.p_value < _LEVEL for cell in one.shapiro)
    tested = sum(not isnan(cell.p_value) for cell in one.shapiro)
    yield (f"4 Shapiro-Wilk: {low} of {counted(tested, 'treatment')} below p = 0.05",)
    if one.permutations is None:
        yield ("5 no treatment is shown not to be normal: analysis of variance",)
    else:
        permuted = f"permutation analysis of variance (Anderson 2001, {one.permutations} permutations)"
        yield (f"5 not normal: {permuted}",)


def _turns(one: PaperMetric) -> str:
    tested = [turn.p_value for turn in one.turns if turn.p_value is not None]
    low = sum(p_value < _LEVEL for p_value in tested)
    return (
        f"{low} of {len(tested)} series below p = 0.05"
        if tested
        else "no series has three samples that differ"
    )


def _table3(one: PaperMetric) -> Table:
    heads = ("d.f.", "SS", "MS", "F", "p" if one.permutations is None else "p (Perm)")
    residual = scientific(one.residual_sum_sq), scientific(one.residual_mean_sq)
    rows = (*map(_term, one.terms), ("residuals", write(one.residual_df), *residual, "", "", ""))
    reasons = ((f"{term.term}: {term.reason}",) for term in one.terms if term.reason)
    columns = (Column(""), *(Column(head, is_numeric=True) for head in heads), Column(""))
    return Table(f"terms-{part_text(one)}", (), columns, rows, (*reasons, (_LEGEND,)))


def _term(term: PaperTerm) -> tuple[Cell, ...]:
    if term.reason:
        return (Name(term.term), *[""] * 6)
    squares = scientific(term.sum_sq), scientific(term.mean_sq)
    return (Name(term.term), write(term.df), *squares, _ratio(term.f), _p(term.p_value), term.stars)


def _table4(one: PaperMetric) -> Iterator[Block]:
    if not one.pairs:
        return
    there = [pair for pair in one.pairs if pair.p_value <= _LEVEL]
    unit = f"diff [{one.unit}]" if one.unit else "diff"
    yield Table(
        f"pairs-{part_text(one)}",
        (f"6 Tukey HSD, {':'.join(one.factors)}: {len(there)} of {len(one.pairs)} differences significant",),
        (Column(""), Column(unit, is_numeric=True), Column("p adj", is_numeric=True), Column("")),
        tuple(
            (
                Name(f"{':'.join(pair.b)}-{':'.join(pair.a)}"),
                Number(pair.difference, digits=3),
                decimals(pair.p_value, 2),
                stars(pair.p_value),
            )
            for pair in there
        ),
        most=_MOST,
    )


def _ratio(value: float) -> str:
    """Return an F with the paper's two decimals; large ones as powers of ten."""
    if isinf(value):
        return "∞"
    return decimals(value, 2) if not value >= 1e4 else scientific(value)


def _p(value: float) -> str:
    """Return a p-value as the paper's tables have it, with three decimals below 0.01."""
    if isnan(value):
        return ABSENT
    return "<0.001" if value < 0.0005 else decimals(value, 3 if value < 0.01 else 2)
