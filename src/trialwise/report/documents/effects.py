"""What `trialwise effects` says: which factors matter, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan

from trialwise.analysis.effects.results import (
    AssumptionFacts,
    CellMean,
    EffectsAnalysis,
    EffectsVerdict,
    LevelComparison,
    LevelEffect,
    MetricEffects,
    PairDifference,
    TermEffect,
)
from trialwise.analysis.unit_words import plural
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
    Text,
    Verdict,
)
from trialwise.report.many import MANY_METRICS, MOST_ROWS, first_names
from trialwise.report.numbers import ABSENT, Estimate, Number, counted, estimate, given, p_text
from trialwise.wording.effects import at_text, part_text, sentence

OUTCOMES: dict[EffectsVerdict, Outcome] = {
    "factors matter": "plain",
    "no factor matters": "good",
    "undecided": "open",
}
_LEVELS: dict[str, Outcome] = {
    "different": "plain",
    "equivalent": "good",
    "undecided": "open",
    "no inference": "open",
}
_MOST = 20
_ALPHA = 0.05


def document(found: EffectsAnalysis, *, full: bool = False) -> Document:
    """Return the verdict, then each metric and part: simple effects, terms, comparisons, treatments, assumptions.

    Of many metrics each is given one row, what matters most first, unless `full`.
    """
    families = f"; terms: {found.family}; comparisons: {found.comparison_family}"
    method = Note((Name(found.source), f": {found.method}, ", given(found.confidence), families))
    if full or len(found.results) <= MANY_METRICS:
        evidence = [
            block for at, one in enumerate(found.results) for block in _metric(found, one, f"/results/{at}")
        ]
    else:
        evidence = [_together(found)]
    notes = (Note((note,), is_aside=True) for note in found.notes)
    return Document(
        "effects", Verdict(OUTCOMES[found.verdict], (f"{sentence(found)}.",)), (*notes, *evidence), (method,)
    )


def _together(found: EffectsAnalysis) -> Table:
    """Return a row for each metric and part with its largest term that was tested: what matters first, by size."""
    placed = [(at, one, _largest(one)) for at, one in enumerate(found.results)]
    placed.sort(
        key=lambda row: (
            _IMPORTANCE[row[1].verdict],
            -row[1].terms[row[2]].effect_size if row[2] is not None else 0.0,
        )
    )
    columns = (
        Column("metric"), Column("verdict"), Column("largest term"), Column("effect"), Column("p", is_numeric=True),
        Column("partial ω²", is_numeric=True), _N,
    )  # fmt: skip
    return Table(
        "effects",
        (
            f"Metrics, the largest effects first (p by {found.family}; intervals with ",
            given(found.confidence),
            ")",
        ),
        columns,
        tuple(_in_brief(one, place, f"/results/{at}") for at, one, place in placed),
        most=MOST_ROWS,
    )


_IMPORTANCE = {"factors matter": 0, "undecided": 1, "no inference": 2, "no factor matters": 3}


def _largest(one: MetricEffects) -> int | None:
    """Return the place of the term with the largest effect, those that matter first; None if none was tested."""
    tested = [place for place, term in enumerate(one.terms) if not term.reason]
    return max(tested, key=lambda at: (one.terms[at].matters, one.terms[at].effect_size), default=None)


def _in_brief(one: MetricEffects, place: int | None, at: str) -> tuple[Cell, ...]:
    begin: tuple[Cell, ...] = (Name(part_text(one)), one.verdict)
    if place is None:
        return (*begin, ABSENT, ABSENT, ABSENT, ABSENT, Number(one.n, f"{at}/n"))
    term = one.terms[place]
    return (*begin, Name(term.term), *_shown(term, f"{at}/terms/{place}"), Number(one.n, f"{at}/n"))


def tables_for_print(document: Document) -> Iterator[Table]:
    """Yield the terms of each metric and part, and the pairs that differ, with the metric in the caption."""
    for table in document.tables:
        kind, _, part = table.key.partition("-")
        if kind in ("terms", "pairs") and table.rows:
            yield replace(table, caption=(part, *((": ", *table.caption) if table.caption else ())))


def _metric(found: EffectsAnalysis, one: MetricEffects, at: str) -> Iterator[Block]:
    unit = f" ({one.unit})" if one.unit else ""
    yield Heading((f"{part_text(one)}{unit}: {one.verdict}",))
    yield Note((_size(one),), is_aside=True)
    yield from (Note((note,), is_aside=True) for note in one.notes)
    if one.refusal:
        yield Note((f"no inference: {one.refusal}",), is_aside=True)
        yield from _treatments(one, at)
        return
    yield from _simple(one, at)
    yield from _terms(found, one, at)
    yield from _comparisons(found, one, at)
    yield from _treatments(one, at)
    yield from _pairs(one, at)
    if one.assumptions is not None:
        yield Heading(("Assumptions (facts; nothing is chosen by them)",))
        yield Items(tuple(_assumptions(one, one.assumptions)))


def _size(one: MetricEffects) -> str:
    trials = f"{counted(one.n_trials, 'trial')} of {counted(len(one.cells), 'treatment')}"
    if one.level == "trial":
        return trials
    return f"{trials}; values are {counted(one.n, 'mean')} over {plural(one.level)}, the level of inference"


# Terms


def _simple(one: MetricEffects, at: str) -> Iterator[Block]:
    if not one.simple:
        return
    together = [term.term for term in one.terms if term.matters and len(term.factors) > 1]
    matter = "matters" if len(together) == 1 else "matter"
    yield Table(
        f"simple-{part_text(one)}",
        (f"Simple effects, to be read first since {_and(together)} {matter}",),
        (Column("factor"), Column("at"), Column("effect"), Column("p", is_numeric=True), Column("ω²", is_numeric=True), _N),
        tuple(
            (Name(row.factor), Name(at_text(row.at)), *_shown(row, f"{at}/simple/{place}"), Number(row.n, f"{at}/simple/{place}/n"))
            for place, row in enumerate(one.simple)
        ),
        tuple((f"{row.factor} at {at_text(row.at)}: {row.reason}",) for row in one.simple if row.reason),
    )  # fmt: skip


_N = Column("n", is_numeric=True)


def _shown(row: TermEffect | LevelEffect, at: str) -> tuple[Cell, ...]:
    """Return whether an effect is shown, its p-value and size."""
    if row.reason:
        return "not tested", ABSENT, ABSENT
    return (
        "matters" if row.matters else "not shown",
        Number(row.p_adjusted, f"{at}/p_adjusted", kind="p_value"),
        _omega(row, at),
    )


def _omega(row: TermEffect | LevelEffect, at: str) -> Estimate:
    places = (f"{at}/effect_size", f"{at}/effect_low", f"{at}/effect_high")
    return estimate(row.effect_size, row.effect_low, row.effect_high, pointers=places)


def _terms(found: EffectsAnalysis, one: MetricEffects, at: str) -> Iterator[Block]:
    effect = "partial ω²" if one.effect == "partial omega squared" else one.effect
    numbers = ("p", effect, "F", "d.f.")
    yield Table(
        f"terms-{part_text(one)}",
        (f"Terms (p by {found.family}; {effect} with ", given(found.confidence), ")"),
        (Column("term"), Column("effect"), *(Column(name, is_numeric=True) for name in numbers)),
        tuple(_term(term, f"{at}/terms/{place}") for place, term in enumerate(one.terms)),
        tuple((f"{term.term}: {term.reason}",) for term in one.terms if term.reason),
    )


def _term(term: TermEffect, at: str) -> tuple[Cell, ...]:
    if term.reason:
        return (Name(term.term), *_shown(term, at), ABSENT, ABSENT)
    df = (
        Number(term.df, f"{at}/df", digits=3),
        ", ",
        Number(term.residual_df, f"{at}/residual_df", digits=3),
    )
    return (Name(term.term), *_shown(term, at), Number(term.f, f"{at}/f"), df)


# Levels, treatments and pairs


def _comparisons(found: EffectsAnalysis, one: MetricEffects, at: str) -> Iterator[Block]:
    if not one.comparisons:
        return
    margin = found.margins.get(one.metric)
    judged = f"margin ±{margin}" if margin else "no margin given"
    unit = f" [{one.unit}]" if one.unit else ""
    averaged = len(one.factors) > 1
    where = (Column("at"),) if averaged else ()
    bills = any(row.verdict == "undecided" for row in one.comparisons)
    columns = (
        Column("level"), Column("base"), *where, Column("verdict"), Column("change", is_numeric=True),
        Column(f"difference{unit}", is_numeric=True), Column("n"), *((Column("more"),) if bills else ()),
    )  # fmt: skip
    rows = (_comparison(row, one, f"{at}/comparisons/{place}") for place, row in enumerate(one.comparisons))
    yield Table(
        f"levels-{part_text(one)}",
        (
            f"Levels against their base ({judged}, ",
            given(found.confidence),
            f" each; verdicts by {found.comparison_family})",
        ),
        columns,
        tuple(row[: len(columns)] for row in rows),
        tuple(_remarks(one, has_bills=bills)),
        most=_MOST,
    )


def _comparison(row: LevelComparison, one: MetricEffects, at: str) -> tuple[Cell, ...]:
    where = (Name(at_text(row.at)) if row.at else "on average",) if len(one.factors) > 1 else ()
    percents = (f"{at}/percent", f"{at}/percent_low", f"{at}/percent_high")
    differences = (f"{at}/difference", f"{at}/low", f"{at}/high")
    has_inference = row.verdict != "no inference"
    n = counted(row.n[0], "pair") if row.paired else f"{row.n[0]} and {row.n[1]}"
    return (
        Name(f"{row.factor}={row.level}"),
        Name(row.base),
        *where,
        Verdict(_LEVELS[row.verdict], (row.verdict,)),
        estimate(row.percent, row.percent_low, row.percent_high, "%", sign=True, pointers=percents) if has_inference else ABSENT,
        estimate(row.difference, row.low, row.high, sign=True, pointers=differences) if has_inference else ABSENT,
        n if has_inference else ABSENT,
        _bill(row),
    )  # fmt: skip


def _bill(row: LevelComparison) -> Cell:
    if row.verdict != "undecided" or row.more is None:
        return ""
    more = Number(row.more, kind="count")
    return more if row.more_seconds is None else (more, ", ", Number(row.more_seconds, kind="duration"))


def _remarks(one: MetricEffects, *, has_bills: bool) -> Iterator[Text]:
    if has_bills:
        each = "" if all(row.paired for row in one.comparisons) else " of each treatment"
        time = (
            ", and how long they take" if any(row.more_seconds is not None for row in one.comparisons) else ""
        )
        yield (f"more: {plural(one.level)}{each} that would decide with a chance of 90 %{time}",)
    reasons: dict[str, list[str]] = {}
    for row in one.comparisons:
        name = f"{row.factor}={row.level}{f' at {at_text(row.at)}' if row.at else ''}"
        if row.verdict == "no inference" or (row.verdict == "undecided" and row.more is None):
            reasons.setdefault(row.reason, []).append(name)
        elif row.uneven:
            yield (f"{name}: n in the smallest treatments, ", Number(row.df, digits=3), " d.f.")
    yield from ((f"{first_names(names)}: {reason}",) for reason, names in reasons.items())


def _treatments(one: MetricEffects, at: str) -> Iterator[Block]:
    if not one.cells:
        return
    unit = f" [{one.unit}]" if one.unit else ""
    columns = (*(Column(factor) for factor in one.factors), Column(f"mean{unit}", is_numeric=True), _N)
    rows = tuple(_treatment(cell, f"{at}/cells/{place}") for place, cell in enumerate(one.cells))
    yield Table(f"treatments-{part_text(one)}", ("Treatments",), columns, rows, most=_MOST)


def _treatment(cell: CellMean, at: str) -> tuple[Cell, ...]:
    if isnan(cell.low):
        mean: Cell = Number(cell.mean, f"{at}/mean")
    else:
        mean = estimate(cell.mean, cell.low, cell.high, pointers=(f"{at}/mean", f"{at}/low", f"{at}/high"))
    return (*(Name(level) for level in cell.levels), mean, Number(cell.n, f"{at}/n"))


def _pairs(one: MetricEffects, at: str) -> Iterator[Block]:
    if not one.pairs:
        return
    there = [(place, pair) for place, pair in enumerate(one.pairs) if pair.p_value <= _ALPHA]
    method = (
        one.pairs_method.partition(":")[0]
        .replace("_", "-")
        .replace("games-howell", "Games-Howell")
        .replace("tukey", "Tukey")
    )
    yield Table(
        f"pairs-{part_text(one)}",
        (f"Pairs of treatments that differ ({method}: {len(there)} of {len(one.pairs)}, all pairs together)",),
        (Column("treatment"), Column("less"), Column("difference", is_numeric=True), Column("p", is_numeric=True)),
        tuple(_pair(pair, f"{at}/pairs/{place}") for place, pair in sorted(there, key=lambda placed: placed[1].p_value)),
        most=_MOST,
    )  # fmt: skip


def _pair(pair: PairDifference, at: str) -> tuple[Cell, ...]:
    places = (f"{at}/difference", f"{at}/low", f"{at}/high")
    size = estimate(pair.difference, pair.low, pair.high, sign=True, pointers=places)
    return (
        Name(", ".join(pair.b)),
        Name(", ".join(pair.a)),
        size,
        Number(pair.p_value, f"{at}/p_value", kind="p_value"),
    )


def _assumptions(one: MetricEffects, facts: AssumptionFacts) -> Iterator[Text]:
    tested = [cell for cell in facts.cells if not isnan(cell.shapiro_p)]
    low = sum(cell.shapiro_p < _ALPHA for cell in tested)
    yield (f"Shapiro-Wilk: {low} of {counted(len(tested), 'treatment')} below p = 0.05",)
    said = p_text(facts.breusch_pagan_p)
    yield ("Breusch-Pagan (studentised): ", *said, " against one variance for all treatments")
    turned = [cell for cell in facts.cells if cell.turning_p is not None]
    odd = sum((cell.turning_p or 0.0) < _ALPHA for cell in turned)
    yield (
        f"turning points of {one.metric} in order of time: {odd} of {counted(len(turned), 'treatment')} below p = 0.05",
    )


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
