"""Analysis of the order of trials: whether it changes results, which predecessor causes it, and what to do (OrderSage)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialwise import statistics as st
from trialwise.analysis.order.carry_over import carry_overs, interleaved, varied
from trialwise.analysis.order.extra_rounds import further_rounds
from trialwise.analysis.order.results import (
    Change,
    Correction,
    OrderAnalysis,
    Outcome,
    PairConclusion,
    TreatmentOrder,
)
from trialwise.analysis.order.trials import FIXED, RANDOM, OrderTrials
from trialwise.analysis.order.verdict import corrected_together, experiment_verdict
from trialwise.analysis.order.workers import worker_differences, worker_spread
from trialwise.experiment.model import Better, Method
from trialwise.late import pl, special

_ALL_PAIRS = 8
"""Largest number of treatments for which all pairs are compared by default."""
_FEWEST = 3


_BLOCKED = (
    "fixed and random rounds did not take turns, so that slow drift of the machine would look like an effect of order; "
    "carry-over is judged from the random rounds alone"
)


@dataclass(frozen=True, slots=True)
class OrderOptions:
    """Options: `alpha` of each family (a share), `confidence` and `margin` (percent of the fixed median).

    `correction` None: Holm, in the paper's method Bonferroni. `compare` are pairs of treatments; empty: all pairs if there are few
    treatments. `better` None: as in the experiment, by default higher.
    """

    method: Method = "default"
    correction: Correction | None = None
    alpha: float = 0.05
    confidence: float = 95
    margin: float = 1.0
    compare: tuple[tuple[str, str], ...] = ()
    better: Better | None = None
    permutations: int | None = None


def analyse_order(trials: OrderTrials, options: OrderOptions = OrderOptions()) -> OrderAnalysis:
    """Compare fixed with random order, search for carry-over, position and drift effects, and compare workers."""
    table = trials.table
    correction = options.correction or ("bonferroni" if options.method == "paper" else "holm")
    treatments = tuple(_judged(table, options, correction))
    unvaried = not varied(table)
    carried = (
        ()
        if options.method == "paper" or unvaried
        else carry_overs(table, options.confidence, options.margin, options.permutations)
    )
    changed = {(one.metric, one.group or "", one.treatment) for one in treatments if one.significant}
    blocked, counts = not interleaved(table), _rounds(table)
    across = options.method == "default" and correction != "none"
    verdict = experiment_verdict(
        treatments, carried, alpha=options.alpha, margin=options.margin, across=across
    )
    return OrderAnalysis(
        format="trialwise.order/1",
        source=trials.source,
        method=options.method,
        correction=correction,
        alpha=options.alpha,
        confidence=options.confidence,
        margin=options.margin,
        n_trials=table["value"].drop_nulls().len(),
        rounds_fixed=counts.get(FIXED, 0),
        rounds_random=counts.get(RANDOM, 0),
        workers=tuple(worker for worker in table["worker"].unique(maintain_order=True) if worker),
        verdict=verdict,
        treatments=treatments,
        conclusions=tuple(_conclusions(treatments, options, trials.better)),
        carry_over=carried,
        worker_spread=tuple(worker_spread(table, changed)),
        worker_differences=tuple(worker_differences(table, options.alpha)),
        blocked=blocked,
        unvaried=unvaried,
        problems=trials.problems,
        n_problems=trials.n_problems,
        notes=(
            *trials.notes,
            *([_BLOCKED] if blocked else []),
            *([one_order(counts.get(RANDOM, 0))] if unvaried else []),
        ),
    )


def one_order(random_rounds: int) -> str:
    """Say why no predecessor is named if no treatment changes its position in rounds that are not fixed."""
    what = (
        "all rounds ran in one fixed order"
        if not random_rounds
        else f"the {random_rounds} rounds that are not recorded as fixed all ran in one order"
        if random_rounds > 1
        else "a single round is not recorded as fixed"
    )
    return f"{what}: there position, drift and predecessor of a treatment cannot be told apart, so that no predecessor can be named"


def _rounds(table: pl.DataFrame) -> dict[str, int]:
    rounds = table.select("metric", "group", "worker", "order", "round").unique()
    most = rounds.group_by("metric", "group", "order").len().group_by("order").agg(pl.col("len").max())
    return {str(order): int(count) for order, count in most.iter_rows()}


# Fixed against random


@dataclass(frozen=True, slots=True)
class _Compared:
    metric: str
    group: str
    treatment: str
    family: str
    n_fixed: int
    n_random: int
    effect: st.OrderEffect | None


def _judged(table: pl.DataFrame, options: OrderOptions, correction: Correction) -> Iterator[TreatmentOrder]:
    if table["order"].n_unique() < 2:
        return
    compared = list(_compared(table, options))
    families = [one.family if one.effect is not None else None for one in compared]
    tests = ("p_value",) if options.method == "paper" else ("p_value", "p_distribution")
    columns = [
        [None if one.effect is None else float(getattr(one.effect, name)) for one in compared]
        for name in tests
    ]
    corrected = corrected_together(columns, families, correction)
    for place, one in enumerate(compared):
        p_location, *p_shape = (column[place] for column in corrected)
        size = len(tests) * families.count(one.family)
        yield _treatment(one, p_location, p_shape[0] if p_shape else None, size, options)


def _compared(table: pl.DataFrame, options: OrderOptions) -> Iterator[_Compared]:
    keys = ["metric", "group", "treatment"]
    of = {
        order: pl.col("value").filter((pl.col("order") == order) & pl.col("value").is_not_null())
        for order in (FIXED, RANDOM)
    }
    parts = table.group_by(keys, maintain_order=True).agg(
        pl.col("family").first(), of[FIXED].alias("fixed"), of[RANDOM].alias("random")
    )
    for row in range(parts.height):
        fixed, random = (parts[order][row].to_numpy() for order in ("fixed", "random"))
        enough = min(fixed.size, random.size) >= _FEWEST
        effect = (
            st.order_effect(fixed, random, alpha=options.alpha, ci_confidence=options.confidence)
            if enough
            else None
        )
        metric, group, treatment, family = (str(parts[key][row]) for key in (*keys, "family"))
        yield _Compared(metric, group, treatment, family, fixed.size, random.size, effect)


def _treatment(
    one: _Compared, p_corrected: float | None, p_shape: float | None, size: int, options: OrderOptions
) -> TreatmentOrder:
    effect = one.effect
    significant = p_corrected is not None and p_corrected < options.alpha
    shape = p_shape is not None and p_shape < options.alpha
    low, high = _relative(effect)
    change = _change(effect, low, high, options, significant=significant, shape=shape)
    further = _further(one, size, options) if change == "open" and options.method == "default" else None
    return TreatmentOrder(
        metric=one.metric,
        group=one.group or None,
        treatment=one.treatment,
        family=one.family,
        n_fixed=one.n_fixed,
        n_random=one.n_random,
        change=change,
        h=effect and effect.h,
        p_value=effect and effect.p_value,
        p_corrected=p_corrected,
        alpha_corrected=options.alpha / max(size, 1),
        significant=significant,
        eta_squared=effect and effect.eta_squared,
        epsilon_squared=effect and effect.epsilon_squared,
        percent_difference=effect and effect.percent_difference,
        shift=effect and effect.shift,
        shift_percent=effect and effect.shift_percent,
        shift_percent_low=low,
        shift_percent_high=high,
        p_distribution=effect and effect.p_distribution,
        p_distribution_corrected=p_shape,
        spread_ratio=effect and effect.spread_ratio,
        fixed=effect and effect.fixed_interval,
        random=effect and effect.random_interval,
        case=effect and effect.case,
        case_strict=effect and effect.case_strict,
        shapiro_fixed=effect and effect.shapiro_fixed,
        shapiro_random=effect and effect.shapiro_random,
        further_rounds=further,
    )


def _relative(effect: st.OrderEffect | None) -> tuple[float | None, float | None]:
    """Return the interval of the shift in percent of the fixed median; no shift is 0 % even for a median of 0."""
    if effect is None or effect.shift.low is None or effect.shift.high is None:
        return None, None
    if not effect.fixed_interval.median:
        return (0.0, 0.0) if effect.shift.low == effect.shift.high == 0 else (None, None)
    ends = sorted(100 * end / effect.fixed_interval.median for end in (effect.shift.low, effect.shift.high))
    return ends[0], ends[1]


def _change(
    effect: st.OrderEffect | None,
    low: float | None,
    high: float | None,
    options: OrderOptions,
    *,
    significant: bool,
    shape: bool,
) -> Change:
    if effect is None:
        return "untested"
    within = low is not None and high is not None and -options.margin <= low and high <= options.margin
    if significant:
        return "small" if within and options.method == "default" else "location"
    if shape:
        return "distribution"
    # The paper's test has no margin, so it can reject, but cannot show equivalence.
    return "same" if within and options.method == "default" else "open"


def _further(one: _Compared, size: int, options: OrderOptions) -> int | None:
    effect = one.effect
    if effect is None or not effect.fixed_interval.median:
        return None
    low, high = effect.shift.low, effect.shift.high
    if low is None or high is None:
        return None
    scale = 100 / abs(effect.fixed_interval.median)
    error = (high - low) / (2 * float(special.ndtri(0.5 + options.confidence / 200)))
    level = options.alpha / (1 if options.correction == "none" else max(size, 1))
    return further_rounds(
        scale * effect.shift.estimate,
        scale * error,
        min(one.n_fixed, one.n_random),
        margin=options.margin,
        alpha=level,
        confidence=options.confidence,
    )


# Conclusions


def _conclusions(
    treatments: Sequence[TreatmentOrder], options: OrderOptions, directions: Mapping[str, Better]
) -> Iterator[PairConclusion]:
    parts: dict[tuple[str, str | None], dict[str, TreatmentOrder]] = {}
    for one in treatments:
        parts.setdefault((one.metric, one.group), {})[one.treatment] = one
    for (metric, group), known in parts.items():
        better = options.better or directions.get(metric, "higher")
        for first, second in options.compare or _all_pairs(list(known)):
            if first in known and second in known:
                yield _conclusion(metric, group, known[first], known[second], better)


def _all_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    if len(names) > _ALL_PAIRS:
        return []
    return [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]


def _conclusion(
    metric: str, group: str | None, first: TreatmentOrder, second: TreatmentOrder, better: Better
) -> PairConclusion:
    fixed = _winner(first.treatment, first.fixed, second.treatment, second.fixed, better)
    random = _winner(first.treatment, first.random, second.treatment, second.random, better)
    outcome: Outcome
    if first.fixed is None or second.fixed is None:
        outcome = "untested"
    elif fixed == random:
        outcome = "no winner" if fixed is None else "same winner"
    else:
        outcome = "winner in one order only" if None in (fixed, random) else "another winner"
    return PairConclusion(metric, group, first.treatment, second.treatment, better, fixed, random, outcome)


def _winner(
    first: str, one: st.MedianInterval | None, second: str, other: st.MedianInterval | None, better: Better
) -> str | None:
    if one is None or other is None or (one.low <= other.high and other.low <= one.high):
        return None
    return first if (one.low > other.high) == (better == "higher") else second
