"""What `trialwise order` says in the terminal and in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise import statistics as st
from trialwise.analysis.order_results import GroupCarryOver, OrderAnalysis, PairConclusion, TreatmentOrder
from trialwise.report.numbers import ABSENT, change, counted, p_equals, percent
from trialwise.report.render.latex import escaped

_MOST = 30
_RANK = {"location": 0, "distribution": 1, "small": 2, "open": 3, "untested": 4, "same": 5}
_CORRECTIONS = {
    "holm": "Holm's correction",
    "bonferroni": "Bonferroni's correction",
    "none": "p-values not corrected",
}
_TESTS = {"default": "Kruskal-Wallis and Anderson-Darling", "paper": "Kruskal-Wallis"}


def order_lines(found: OrderAnalysis) -> Iterator[str]:
    """The verdict, the treatments, the conclusions, carry-over, workers, what to do next, what is wrong in the data."""
    yield found.sentence
    rounds = f"{found.rounds_fixed} fixed and {found.rounds_random} random rounds"
    yield f"  {found.source}: {found.n_trials} values, {rounds}"
    yield from (f"  {note}" for note in found.notes)
    yield from _treatments(found)
    yield from _part("Would the conclusion change?", [conclusion_of(found, one) for one in found.conclusions])
    for group in found.carry_over:
        yield from _carry_over(group, several=len(found.carry_over) > 1)
    workers = [
        *(one.sentence for one in found.worker_spread),
        *(one.sentence for one in found.worker_differences),
    ]
    if len(found.workers) > 1:
        yield from _part(f"Workers ({len(found.workers)})", workers or ["none differs from the others"])
    yield from _part("Next", found.next_steps)
    yield from _problems(found)


def _part(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield title
        yield from (f"  {line}" for line in lines[:_MOST])
        if len(lines) > _MOST:
            yield f"  … and {len(lines) - _MOST} more (all with --json)"


def _treatments(found: OrderAnalysis) -> Iterator[str]:
    if not found.treatments:
        return
    lines = [sentence_of(found, one) for one in ranked(found)]
    yield from _part(f"Fixed against random order ({how_compared(found)})", lines)


def ranked(found: OrderAnalysis) -> list[TreatmentOrder]:
    """The treatments, those that change most first."""
    return sorted(found.treatments, key=lambda one: (_RANK[one.change], -abs(one.shift_percent or 0.0)))


def sentence_of(found: OrderAnalysis, one: TreatmentOrder) -> str:
    """The sentence of a treatment, with its metric where there are several."""
    several = len({known.metric for known in found.treatments}) > 1
    return f"{one.metric}: {one.sentence}" if several else one.sentence


def conclusion_of(found: OrderAnalysis, one: PairConclusion) -> str:
    """The sentence of a pair of treatments, with its metric and group where there are several."""
    several = len({(known.metric, known.group) for known in found.conclusions}) > 1
    where = f"{one.metric} ({one.group}): " if one.group else f"{one.metric}: "
    return f"{where if several else ''}{one.sentence}"


def how_compared(found: OrderAnalysis) -> str:
    """Test, correction, levels and margin."""
    method = "the paper's method" if found.method == "paper" else f"margin {percent(found.margin)}"
    return (
        f"{_TESTS[found.method]}, {_CORRECTIONS[found.correction]} at {percent(100 * found.alpha)}; "
        f"medians at {percent(found.confidence)}; {method}"
    )


def _carry_over(group: GroupCarryOver, *, several: bool) -> Iterator[str]:
    yield ""
    yield carry_over_title(group, several=several)
    if not group.pairs and not group.lasting:
        yield f"  {no_pair(group)}"
    yield from (f"  {one.sentence}" for one in group.lasting[:_MOST])
    yield from (f"  {pair.sentence}" for pair in group.pairs[:_MOST])
    yield from (f"  {name}: {text}" for name, text in trends(group))
    if group.note:
        yield f"  {group.note}"
    yield f"  n = {group.n_pairs}: {group.method}"


def carry_over_title(group: GroupCarryOver, *, several: bool) -> str:
    """Whose carry-over, and how surely."""
    where = f" of {group.metric}" + (f" ({group.group})" if group.group else "") if several else ""
    tested = f"{group.tested} pairs"
    if group.tested_lasting:
        tested += f" right after and {group.tested_lasting} once earlier in the round"
    return f"Carry-over{where} ({tested} tested, {percent(group.confidence)} for all together)"


def no_pair(group: GroupCarryOver) -> str:
    """What to say where no pair stands out."""
    return "no pair stands out" if group.tested else "no pair can be tested"


def trends(group: GroupCarryOver, unit: str = "") -> Iterator[tuple[str, str]]:
    """Position, drift and the first trial of a round, each as a name and what was found."""
    for name, trend, step in (
        ("position", group.position, "for each step into the round"),
        ("drift", group.drift, "from round to round"),
        ("first", group.first, "for the first trial of a round"),
    ):
        if trend.n:
            yield name, f"{_trend(trend, unit)} {step}"


def _trend(trend: st.Trend, unit: str) -> str:
    size = change(trend.estimate, trend.low, trend.high, f" {unit}" if unit else "")
    return f"{size.removesuffix(')')}, {p_equals(trend.p_value)})"


def _problems(found: OrderAnalysis) -> Iterator[str]:
    if not found.n_problems:
        return
    yield ""
    yield f"Wrong in the data ({found.n_problems}); the rest was used"
    shown = found.problems[:20]
    yield from (f"  {problem.text}" for problem in shown)
    if found.n_problems > len(shown):
        yield f"  … and {found.n_problems - len(shown)} more"


def order_latex(found: OrderAnalysis) -> str:
    """A table with booktabs in the form of the paper's Tables 3 to 5, with η² beside."""
    lines = [
        "% Written by `trialwise order --latex`; needs \\usepackage{booktabs}.",
        f"% {counted(len(found.treatments), 'comparison')}, {_CORRECTIONS[found.correction]}, alpha = {found.alpha:g}",
        r"\begin{tabular}{lrrcrrr}",
        r"\toprule",
        r"test & KW $p$ & corrected & KW test & $\Delta\%$ & $\eta^2$ & CI case \\",
        r"\midrule",
        *(_row(one) for one in found.treatments),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _row(one: TreatmentOrder) -> str:
    name = f"{one.treatment} ({one.group})" if one.group else one.treatment
    mark = r"$\bullet$" if one.significant else r"$\circ$"
    cells = (
        escaped(name),
        _number(one.p_value, ".2g"),
        _number(one.p_corrected, ".2g"),
        mark if one.p_value is not None else ABSENT,
        _number(one.percent_difference, ".1f"),
        _number(one.eta_squared, ".3f"),
        ABSENT if one.case is None else str(one.case),
    )
    return " & ".join(cells) + r" \\"


def _number(value: float | None, form: str) -> str:
    if value is None or value != value:  # noqa: PLR0124 NaN
        return ABSENT
    return f"${value:{form}}$"
