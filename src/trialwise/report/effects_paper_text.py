"""What `trialwise effects --method paper` says in the terminal: the steps, and tables like the paper's Tables 3 and 4."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf, isnan

from trialwise.analysis.effects.paper import stars
from trialwise.analysis.effects.paper_results import PaperEffects, PaperMetric
from trialwise.analysis.effects.sentences import part_text
from trialwise.report.numbers import about, counted, percent, write
from trialwise.report.terminal_table import Line, aligned

_LEVEL = 0.05
_MOST = 20
LEGEND = "Significance level: * 0.05, ** 0.01, *** 0.001"


def paper_lines(found: PaperEffects) -> Iterator[Line]:
    """The verdict, what it is worth, and each metric and part step by step."""
    yield found.sentence
    yield f"  {found.source}: the OML study's procedure, {percent(found.confidence)}"
    yield f"  {found.worth}"
    if found.warning:
        yield f"  Warning: {found.warning}"
    yield from (f"  {note}" for note in found.notes)
    for one in found.results:
        yield ""
        yield from _metric(one)


def _metric(one: PaperMetric) -> Iterator[Line]:
    unit = f" ({one.unit})" if one.unit else ""
    yield f"{part_text(one)}{unit}: {counted(one.n, 'sample')} of {counted(one.n_trials, 'trial')}"
    yield from (f"  {note}" for note in one.notes)
    yield f"  1 turning points: {_turns(one)}"
    yield f"  2 resampling with replacement: {'every series' if one.resampled else 'left out (--resample)'}"
    if one.refusal:
        yield f"  no inference: {one.refusal}"
        return
    said = p_of(one.breusch_pagan_p)
    p_value = f"p {said}" if said.startswith("<") else f"p = {said}"
    yield f"  3 Breusch-Pagan: {write(one.breusch_pagan)}, d.f. {one.breusch_pagan_df}, {p_value}"
    low = sum(cell.p_value < _LEVEL for cell in one.shapiro)
    tested = sum(not isnan(cell.p_value) for cell in one.shapiro)
    yield f"  4 Shapiro-Wilk: {low} of {counted(tested, 'treatment')} below p = 0.05"
    yield f"  5 {_analysis(one)}"
    yield from _table3(one)
    yield from _table4(one)


def _turns(one: PaperMetric) -> str:
    tested = [turn for turn in one.turns if turn.p_value is not None]
    low = sum((turn.p_value or 0.0) < _LEVEL for turn in tested)
    return (
        f"{low} of {len(tested)} series below p = 0.05"
        if tested
        else "no series has three samples that differ"
    )


def _analysis(one: PaperMetric) -> str:
    if one.permutations is None:
        return "no treatment is shown not to be normal: analysis of variance"
    return f"not normal: permutation analysis of variance (Anderson 2001, {one.permutations} permutations)"


def _table3(one: PaperMetric) -> Iterator[Line]:
    p_name = "p" if one.permutations is None else "p (Perm)"
    rows = [("", "d.f.", "SS", "MS", "F", p_name, "")]
    rows += [
        (
            term.term,
            *((f"{term.df:g}", scientific(term.sum_sq), scientific(term.mean_sq), ratio(term.f), p_of(term.p_value), term.stars)
            if not term.reason
            else ("", "", "", "", "", "")),
        )
        for term in one.terms
    ]  # fmt: skip
    residual = scientific(one.residual_sum_sq), scientific(one.residual_mean_sq)
    rows.append(("residuals", f"{one.residual_df:g}", *residual, "", "", ""))
    yield aligned(rows, range(1, len(rows[0]) - 1))
    yield from (f"  {term.term}: {term.reason}" for term in one.terms if term.reason)
    yield f"  {LEGEND}"


def _table4(one: PaperMetric) -> Iterator[Line]:
    there = [pair for pair in one.pairs if pair.p_value <= _LEVEL]
    if not one.pairs:
        return
    names = ":".join(one.factors)
    yield f"  6 Tukey HSD, {names}: {len(there)} of {len(one.pairs)} differences significant"
    if there:
        unit = f"diff [{one.unit}]" if one.unit else "diff"
        rows = [("", unit, "p adj", "")]
        rows += [
            (
                f"{':'.join(pair.b)}-{':'.join(pair.a)}",
                about(pair.difference),
                f"{pair.p_value:.2f}",
                stars(pair.p_value),
            )
            for pair in there[:_MOST]
        ]
        yield aligned(rows, range(1, len(rows[0]) - 1))
        if len(there) > _MOST:
            yield f"  … and {len(there) - _MOST} more (all with --json)"


def scientific(value: float) -> str:
    """A sum of squares as the paper writes it: 2.69e+06."""
    return (
        "–" if isnan(value) else f"{value:.2e}" if value and not 0.01 <= abs(value) < 1e4 else f"{value:.4g}"
    )


def ratio(value: float) -> str:
    """An F with the paper's two decimals; large ones as powers of ten."""
    if isnan(value) or isinf(value):
        return "–" if isnan(value) else "∞"
    return f"{value:.2f}" if value < 1e4 else f"{value:.2e}"


def p_of(value: float) -> str:
    """A p-value as the paper's tables have it, with three decimals below 0.01."""
    if isnan(value):
        return "–"
    return "<0.001" if value < 0.0005 else f"{value:.3f}" if value < 0.01 else f"{value:.2f}"
