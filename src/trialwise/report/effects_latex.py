"""Tables of effects for LaTeX, in the form of the OML study's Tables 3 and 4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isinf, isnan

from trialwise.analysis.effects.paper import stars
from trialwise.analysis.effects.paper_results import PaperEffects, PaperMetric, PaperTerm
from trialwise.analysis.effects.results import EffectsAnalysis, MetricEffects, PairDifference, TermEffect
from trialwise.analysis.effects.sentences import at_text
from trialwise.report.numbers import ABSENT, about, decimals, p_value, percent
from trialwise.report.render.latex import escaped, latex_number

_LEVEL = 0.05
_LEGEND = r"Significance level: $\star$ 0.05, $\star\star$ 0.01, $\star\star\star$ 0.001"


def effects_latex(found: EffectsAnalysis | PaperEffects) -> str:
    """Write the terms with a block for each part and columns for each metric, then the pairs that differ."""
    several = [one for one in found.results if one.terms]
    lines = ["% Written by `trialwise effects --latex`; needs \\usepackage{booktabs}."]
    lines += [f"% {found.source}: {found.method}, {percent(found.confidence)}"]
    lines += _terms(several) if several else ["% no inference"]
    for one in several:
        there = [pair for pair in one.pairs if pair.p_value <= _LEVEL]
        if there:
            lines += _pairs(one, there)
    return "\n".join(lines) + "\n"


def _terms(results: Sequence[MetricEffects | PaperMetric]) -> Iterator[str]:
    metrics = list(dict.fromkeys(one.metric for one in results))
    paper = isinstance(results[0], PaperMetric)
    columns = (
        ["SS", "MS", "$F$", _p_name(results), "Signif."]
        if paper
        else ["d.f.", "$F$", "$p$", r"$\omega^2$", "interval"]
    )
    width = len(columns)
    shared = ["d.f."] if paper else []
    form = "r" * len(shared) + "rrrrl" * len(metrics) if paper else "rrrrl" * len(metrics)
    yield rf"\begin{{tabular}}{{l{form}}}"
    yield r"\toprule"
    heads = [rf"\multicolumn{{{width}}}{{c}}{{{escaped(metric)}}}" for metric in metrics]
    yield " & ".join(["", *([""] if shared else []), *heads]) + r" \\"
    yield " & ".join(["", *shared, *columns * len(metrics)]) + r" \\"
    for part in dict.fromkeys(tuple(one.part.items()) for one in results):
        here = {one.metric: one for one in results if tuple(one.part.items()) == part}
        yield r"\midrule"
        if part:
            whole = 1 + len(shared) + width * len(metrics)
            yield rf"\multicolumn{{{whole}}}{{l}}{{{escaped(at_text(dict(part)))}}} \\"
        for term in dict.fromkeys(term.term for one in here.values() for term in one.terms):
            yield _row(term, here, metrics, paper=paper)
    yield r"\bottomrule"
    yield r"\end{tabular}"
    if paper:
        yield f"% below the table: {_LEGEND}"


def _p_name(results: Sequence[MetricEffects | PaperMetric]) -> str:
    permuted = any(one.permutations is not None for one in results)
    return "$p$ (Perm)" if permuted else "$p$"


def _row(
    name: str, here: dict[str, MetricEffects | PaperMetric], metrics: Sequence[str], *, paper: bool
) -> str:
    cells = [escaped(name)]
    found = [
        next((term for term in here[metric].terms if term.term == name), None) if metric in here else None
        for metric in metrics
    ]
    if paper:
        df = next((term.df for term in found if term is not None), float("nan"))
        cells.append(ABSENT if isnan(df) else f"${df:g}$")
    for term in found:
        cells += [ABSENT] * 4 + [""] if term is None else list(_cells(term))
    return " & ".join(cells) + r" \\"


def _cells(term: TermEffect | PaperTerm) -> Iterator[str]:
    if isinstance(term, PaperTerm):
        yield from (_number(value) for value in (term.sum_sq, term.mean_sq, term.f))
        yield _p(term.p_value)
        yield _stars(term.stars)
        return
    yield ABSENT if isnan(term.df) else f"${about(term.df)}, {about(term.residual_df)}$"
    yield _number(term.f)
    yield _p(term.p_adjusted)
    yield ABSENT if isnan(term.effect_size) else f"${decimals(term.effect_size, 2)}$"
    yield (
        ABSENT
        if isnan(term.effect_low)
        else f"${decimals(term.effect_low, 2, 'down')}$ to ${decimals(term.effect_high, 2, 'up')}$"
    )


def _pairs(one: MetricEffects | PaperMetric, there: Sequence[PairDifference]) -> Iterator[str]:
    unit = f" [{escaped(one.unit)}]" if one.unit else ""
    held = f" at {escaped(at_text(one.part))}" if one.part else ""
    yield f"% pairs of {escaped(one.metric)}{held}: {one.pairs_method.partition(':')[0]}"
    yield r"\begin{tabular}{lrrl}"
    yield r"\toprule"
    yield rf"{escaped(':'.join(one.factors))} & diff{unit} & $p$ adj & Signif. \\"
    yield r"\midrule"
    for pair in there:
        name = escaped(f"{':'.join(pair.b)}-{':'.join(pair.a)}")
        yield rf"{name} & {latex_number(about(pair.difference))} & {_p(pair.p_value)} & {_stars(stars(pair.p_value))} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _stars(text: str) -> str:
    stars_there = r"\star" * len(text)
    return f"${stars_there}$" if text else ""


def _number(value: float) -> str:
    if isnan(value):
        return ABSENT
    if isinf(value):
        return r"$\infty$"
    if value and not 0.01 <= abs(value) < 1e4:
        mantissa, _, power = f"{value:.2e}".partition("e")
        return rf"${mantissa}\times 10^{{{int(power)}}}$"
    return f"${value:.2f}$"


def _p(value: float) -> str:
    return ABSENT if isnan(value) else f"${p_value(value)}$"
