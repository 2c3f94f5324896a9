"""What `trialwise order` says: whether the order of trials changes what they measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trialwise import statistics as st
from trialwise.analysis.order.results import (
    Change,
    GroupCarryOver,
    LastingEffect,
    OrderAnalysis,
    PairConclusion,
    PairEffect,
    TreatmentOrder,
)
from trialwise.analysis.order.results import Outcome as Conclusion
from trialwise.analysis.order.results import Verdict as Finding
from trialwise.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Heading,
    Items,
    Name,
    Note,
    Outcome,
    Table,
    Verdict,
    table_of,
)
from trialwise.report.many import MANY_METRICS, first_names
from trialwise.report.numbers import ABSENT, Estimate, Number, counted, estimate, given, p_text
from trialwise.wording import order as wording

_FINDINGS: dict[Finding, Outcome] = {
    "order matters": "bad",
    "order does not matter": "good",
    "undecided": "open",
}
CHANGES: dict[Change, tuple[Outcome, str]] = {
    "location": ("bad", "changes"),
    "distribution": ("bad", "changes"),
    "small": ("good", "within the margin"),
    "same": ("good", "no difference"),
    "open": ("open", "open"),
    "untested": ("open", "not tested"),
}
CONCLUSIONS: dict[Conclusion, tuple[Outcome, str]] = {
    "same winner": ("good", "stays"),
    "no winner": ("good", "stays"),
    "another winner": ("bad", "changes"),
    "winner in one order only": ("bad", "changes"),
    "untested": ("open", "not tested"),
}
_RANK = {"location": 0, "distribution": 1, "small": 2, "open": 3, "untested": 4, "same": 5}
_URGENCY: dict[Outcome, int] = {"bad": 0, "open": 1, "plain": 2, "good": 3}
CORRECTIONS = {
    "holm": "Holm's correction",
    "bonferroni": "Bonferroni's correction",
    "none": "p-values not corrected",
}
_TESTS = {"default": "Kruskal-Wallis and Anderson-Darling", "paper": "Kruskal-Wallis"}
_MAX_PROBLEMS = 20


def document(found: OrderAnalysis) -> Document:
    """Return the verdict, treatments, conclusions, carry-over, workers, what to do next, what is wrong in the data."""
    rounds = f"{found.rounds_fixed} fixed and {counted(found.rounds_random, 'random round')}"
    groups = _one_group(found) if len(found.carry_over) == 1 else _groups(found)
    evidence = (
        *_treatments(found),
        *_conclusions(found),
        *groups,
        *_workers(found),
        *_listed("Next", tuple(wording.next_steps(found))),
    )
    return Document(
        "order",
        Verdict(_FINDINGS[found.verdict], (wording.sentence(found),)),
        (*(Note((note,), is_aside=True) for note in found.notes), *evidence, *problems(found)),
        (
            Note((Name(found.source), f": {counted(found.n_trials, 'value')}, {rounds}")),
            Note((how_compared(found),)),
            *(Note((f"carry-over: n = {group.n_pairs}: {group.method}",)) for group in found.carry_over[:1]),
        ),
    )


def _listed(title: str, lines: Sequence[str], most: int | None = 30) -> Iterator[Block]:
    if lines:
        yield Heading((title,))
        yield Items(tuple((line,) for line in lines), most)


# Treatments


def _treatments(found: OrderAnalysis) -> Iterator[Block]:
    if not found.treatments:
        return
    several, has_groups = _about_several(found), any(one.group for one in found.treatments)
    where = (*(["metric"] if several else []), *(["group"] if has_groups else []))
    is_open = any(one.further_rounds for one in found.treatments)
    columns = (
        *map(Column, where), Column("treatment"), Column("verdict"), Column("shift", is_numeric=True),
        Column("p", is_numeric=True), Column("case", is_numeric=True), Column("n", is_numeric=True),
        *((Column("more", is_numeric=True),) if is_open else ()),
    )  # fmt: skip
    rows = tuple(
        (
            *_names(one, where),
            Name(one.treatment),
            *_treatment(one, f"/treatments/{found.treatments.index(one)}", is_paper=found.method == "paper"),
        )[: len(columns)]
        for one in ranked(found)
    )
    facts = ["shift: fixed minus random, in percent of the median in fixed order"]
    facts += ["more: further rounds of each order that would settle it"] if is_open else []
    told = (sentence_of(found, one) for one in ranked(found) if one.change in ("distribution", "untested"))
    yield Table(
        "order-verdicts",
        ("Fixed against random order",),
        columns,
        tuple(rows),
        tuple((each,) for each in (*facts, *_first_few(tuple(told)))),
    )


def _first_few(lines: Sequence[str]) -> Iterator[str]:
    """Yield the first lines, of many metrics, and count the others."""
    yield from lines[:MANY_METRICS]
    if (more := len(lines) - MANY_METRICS) > 0:
        yield f"and {more} more (all with --json)"


def table_for_print(found: OrderAnalysis) -> Table:
    """Return the treatments in the form of the paper's Tables 3 to 5, with η² added."""
    titles = ("test", "KW p", "corrected", "KW test", "Δ%", "η²", "CI case")
    count = counted(len(found.treatments), "comparison")
    caption = (f"{count}, {CORRECTIONS[found.correction]}, alpha = ", given(found.alpha, ""))
    rows = tuple(map(_printed, found.treatments))
    return replace(table_of("order", "", titles, rows, (1, 2, 4, 5, 6)), caption=caption)


def _printed(one: TreatmentOrder) -> tuple[Cell, ...]:
    mark = "•" if one.significant else "○"
    return (
        f"{one.treatment} ({one.group})" if one.group else one.treatment,
        Number(one.p_value, kind="p_value"),
        Number(one.p_corrected, kind="p_value"),
        ABSENT if one.p_value is None else mark,
        Number(one.percent_difference, digits=3),
        Number(one.eta_squared, digits=3),
        ABSENT if one.case is None else str(one.case),
    )


def _names(one: TreatmentOrder, where: Sequence[str]) -> tuple[Cell, ...]:
    known = {"metric": one.metric, "group": one.group or ""}
    return tuple(Name(known[each]) for each in where)


def _treatment(one: TreatmentOrder, at: str, *, is_paper: bool) -> tuple[Cell, ...]:
    outcome, word = CHANGES["same" if is_paper and one.change == "open" else one.change]
    places = (f"{at}/shift_percent", f"{at}/shift_percent_low", f"{at}/shift_percent_high")
    ends = (one.shift_percent, one.shift_percent_low, one.shift_percent_high)
    return (
        Verdict(outcome, (word,)),
        estimate(*ends, unit="%", sign=True, pointers=places),
        Number(one.p_corrected, f"{at}/p_corrected", kind="p_value"),
        Number(one.case, f"{at}/case"),
        f"{one.n_fixed}, {one.n_random}",
        Number(one.further_rounds, f"{at}/further_rounds") if one.change == "open" else "",
    )


def _about_several(found: OrderAnalysis) -> bool:
    return len({known.metric for known in found.treatments}) > 1


def ranked(found: OrderAnalysis) -> list[TreatmentOrder]:
    """Return the treatments, those that change most first."""
    return sorted(found.treatments, key=lambda one: (_RANK[one.change], -abs(one.shift_percent or 0.0)))


def sentence_of(found: OrderAnalysis, one: TreatmentOrder) -> str:
    """Return the sentence of a treatment, with its metric where there are several."""
    text = wording.treatment(one, found.method)
    return f"{one.metric}: {text}" if _about_several(found) else text


def how_compared(found: OrderAnalysis) -> str:
    """Return the test, correction, levels and margin."""
    level, confidence, margin = (
        given(value).with_unit for value in (100 * found.alpha, found.confidence, found.margin)
    )
    method = "the paper's method" if found.method == "paper" else f"margin {margin}"
    return f"{_TESTS[found.method]}, {CORRECTIONS[found.correction]} at {level}; medians at {confidence}; {method}"


# Conclusions


def _conclusions(found: OrderAnalysis) -> Iterator[Block]:
    if not found.conclusions:
        return
    several = len({(known.metric, known.group) for known in found.conclusions}) > 1
    names = ("in", "first", "second") if several else ("first", "second")
    columns = (
        *map(Column, names),
        Column("wins in fixed order"),
        Column("in random order"),
        Column("conclusion"),
    )
    rows = tuple(
        (*((where(one.metric, one.group),) if several else ()), *_conclusion(one))
        for one in sorted(found.conclusions, key=lambda one: _URGENCY[CONCLUSIONS[one.outcome][0]])
    )
    untested = [conclusion_of(found, one) for one in found.conclusions if one.outcome == "untested"]
    facts = tuple((text,) for text in _first_few(untested))
    yield Table("order-conclusions", ("Would the conclusion change?",), columns, rows, facts)


def _conclusion(one: PairConclusion) -> tuple[Cell, ...]:
    outcome, word = CONCLUSIONS[one.outcome]
    winners = (ABSENT if name is None else Name(name) for name in (one.fixed_winner, one.random_winner))
    return Name(one.first), Name(one.second), *winners, Verdict(outcome, (word,))


def conclusion_of(found: OrderAnalysis, one: PairConclusion) -> str:
    """Return the sentence of a pair of treatments, with its metric and group where there are several."""
    several = len({(known.metric, known.group) for known in found.conclusions}) > 1
    text = wording.conclusion(one)
    return f"{where(one.metric, one.group)}: {text}" if several else text


def where(metric: str, group: str | None) -> str:
    """Return a metric, with its group where there is one."""
    return f"{metric} ({group})" if group else metric


# Carry-over


def _one_group(found: OrderAnalysis) -> Iterator[Block]:
    (group,), at = found.carry_over, "/carry_over/0"
    yield Heading((carry_over_title(group, several=False),))
    if not stands_out(group):
        yield Note((no_pair(group),), is_aside=True)
    yield from _pairs(group, at)
    for name, step, change, place, trend in _trends(group, at):
        yield Note((f"{name}: ", change, f" {step}, ", *p_text(trend.p_value, place)), is_aside=True)
    if group.note:
        yield Note((group.note,), is_aside=True)


def _groups(found: OrderAnalysis) -> Iterator[Block]:
    """Yield the groups in which a pair stands out, the others in a sentence, then the trends of all in one table."""
    places = {f"/carry_over/{at}": group for at, group in enumerate(found.carry_over)}
    loud = sorted((one for one in places.items() if stands_out(one[1])), key=lambda one: _least_p(one[1]))
    for at, group in loud[:MANY_METRICS]:
        yield Heading((carry_over_title(group, several=True),))
        yield from _pairs(group, at)
    if rest := [where(group.metric, group.group) for _, group in loud[MANY_METRICS:]]:
        yield Note((f"Pairs stand out in {first_names(rest)}, too (all with --json)",), is_aside=True)
    quiet = [group for group in found.carry_over if not stands_out(group)]
    if quiet:
        yield Heading((f"Carry-over{' of the others' if len(quiet) < len(places) else ''}",))
        yield Note((_quiet(quiet),), is_aside=True)
    trends = [
        (
            trend.p_value,
            (where(group.metric, group.group), step, change, Number(trend.p_value, place, kind="p_value")),
        )
        for at, group in places.items()
        for _, step, change, place, trend in _trends(group, at)
    ]
    if len(places) > MANY_METRICS:
        trends.sort(key=lambda one: one[0])
    rows = [row for _, row in trends]
    if rows:
        yield Table(
            "order-trends",
            ("Position and drift",),
            (Column("of"), Column("change"), Column("effect, in its unit", is_numeric=True), _EFFECT[1]),
            tuple(rows),
        )
    notes: dict[str, list[str]] = {}
    for group in found.carry_over:
        if group.note:
            notes.setdefault(group.note, []).append(where(group.metric, group.group))
    yield from (Note((f"{first_names(names)}: {note}",), is_aside=True) for note, names in notes.items())


def _quiet(groups: Sequence[GroupCarryOver]) -> str:
    """Say in which groups no pair stands out, and how many pairs were tested in each; levels hold for each group by itself."""
    said: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        found = no_pair(group), _tested(group) if group.tested else ""
        said.setdefault(found, []).append(where(group.metric, group.group))
    return "; ".join(
        f"{first_names(names)}: {told}"
        + (f" ({'each: ' if len(names) > 1 else ''}{tested})" if tested else "")
        for (told, tested), names in said.items()
    )


def _least_p(group: GroupCarryOver) -> float:
    return min(one.p_value for one in (*group.pairs, *group.lasting))


def stands_out(group: GroupCarryOver) -> bool:
    """Return True if a treatment changes another one, at once or for the rest of the round."""
    return bool(group.pairs or group.lasting)


def _pairs(group: GroupCarryOver, at: str) -> Iterator[Block]:
    if group.lasting:
        rows = tuple(_lasting(one, f"{at}/lasting/{place}") for place, one in enumerate(group.lasting))
        told = tuple((wording.lasting(one),) for one in group.lasting if one.alike or one.explains)
        columns = (
            Column("treatment"),
            Column("once it has run"),
            *_EFFECT,
            Column("n after"),
            Column("n before"),
        )
        yield Table(f"order-lasting-{at}", (), columns, rows, told)
    if group.pairs:
        rows = tuple(_pair(pair, f"{at}/pairs/{place}") for place, pair in enumerate(group.pairs))
        yield Table(
            f"order-pairs-{at}", (), (Column("treatment"), Column("right after"), *_EFFECT, Column("n")), rows
        )


_EFFECT = (Column("effect", is_numeric=True), Column("p", is_numeric=True))


def _effect(one: PairEffect | LastingEffect, at: str) -> tuple[Cell, ...]:
    p_value = Number(one.p_value, f"{at}/p_value", kind="p_value")
    if one.percent is None:
        places = (f"{at}/effect", f"{at}/low", f"{at}/high")
        return estimate(one.effect, one.low, one.high, sign=True, pointers=places), p_value
    places = (f"{at}/percent", f"{at}/percent_low", f"{at}/percent_high")
    return estimate(one.percent, one.percent_low, one.percent_high, "%", sign=True, pointers=places), p_value


def _pair(pair: PairEffect, at: str) -> tuple[Cell, ...]:
    return Name(pair.treatment), Name(pair.predecessor), *_effect(pair, at), Number(pair.n, f"{at}/n")


def _lasting(one: LastingEffect, at: str) -> tuple[Cell, ...]:
    n = Number(one.n_after, f"{at}/n_after"), Number(one.n_before, f"{at}/n_before")
    return Name(one.treatment), Name(one.earlier), *_effect(one, at), *n


def carry_over_title(group: GroupCarryOver, *, several: bool) -> str:
    """Say whose carry-over it is, and how surely."""
    of = f" of {where(group.metric, group.group)}" if several else ""
    return f"Carry-over{of} ({_tested(group)})"


def _tested(group: GroupCarryOver) -> str:
    tested = f"{group.tested} pairs"
    if group.tested_lasting:
        tested += f" right after and {group.tested_lasting} once earlier in the round"
    return f"{tested} tested, {given(group.confidence).with_unit} for all together"


def no_pair(group: GroupCarryOver) -> str:
    """Return what to say where no pair stands out."""
    return "no pair stands out" if group.tested else "no pair can be tested"


def _trends(group: GroupCarryOver, at: str) -> Iterator[tuple[str, str, Estimate, str, st.Trend]]:
    """Yield position, drift and first trial of a round: name, of what, how much, the place of its p-value, the trend itself."""
    for name, trend, step in (
        ("position", group.position, "for each step into the round"),
        ("drift", group.drift, "from round to round"),
        ("first", group.first, "for the first trial of a round"),
    ):
        if trend.n:
            of = f"{at}/{name}"
            places = (f"{of}/estimate", f"{of}/low", f"{of}/high")
            change = estimate(trend.estimate, trend.low, trend.high, sign=True, pointers=places)
            yield name, step, change, f"{of}/p_value", trend


# Workers and problems


def _workers(found: OrderAnalysis) -> Iterator[Block]:
    if len(found.workers) > 1:
        lines = [*map(wording.spread, found.worker_spread), *map(wording.worker, found.worker_differences)]
        yield from _listed(f"Workers ({len(found.workers)})", lines or ["none differs from the others"])


def problems(found: OrderAnalysis) -> Iterator[Block]:
    """Yield what is wrong in the data, if something is."""
    if found.n_problems:
        title = f"Wrong in the data ({found.n_problems}); the rest was used"
        more = found.n_problems - len(found.problems)
        lines = [*(problem.text for problem in found.problems), *([f"and {more} more"] if more else [])]
        yield from _listed(title, lines, _MAX_PROBLEMS)
