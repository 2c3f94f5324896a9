"""Sentences about the order of trials: one for each treatment, pair and worker, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan, nan

from trialwise import statistics as st
from trialwise.analysis.order.extra_rounds import FAR, is_hopeless
from trialwise.analysis.order.results import (
    GroupCarryOver,
    LastingEffect,
    OrderAnalysis,
    Outcome,
    PairConclusion,
    PairEffect,
    TreatmentOrder,
    WorkerDifference,
    WorkerSpread,
)
from trialwise.analysis.order.verdict import questions
from trialwise.experiment.model import Method
from trialwise.numbers import as_given, counted, first_of, p_equals, useful

_MOST = 5


def _among(names: Sequence[str]) -> str:
    return first_of(list(dict.fromkeys(names)), _MOST)


def _named(name: str, group: str | None) -> str:
    """Name a treatment with its group."""
    return f"{name} ({group})" if group else name


def treatment(one: TreatmentOrder, method: Method) -> str:
    """Return the sentence of one treatment."""
    begin = _named(one.treatment, one.group)
    if one.shift is None or one.fixed is None or one.random is None:
        return f"{begin}: too few values to compare the orders; at least 3 of each are needed"
    shift = _shift(one, one.shift)
    p_text = p_equals(one.p_corrected)
    if one.change in ("location", "small"):
        size = ", within the margin" if one.change == "small" else ""
        return f"{begin}: {shift}{size} ({p_text}, case {one.case})"
    if one.change == "distribution":
        fixed, random = useful(one.fixed.median), useful(one.random.median)
        ratio = useful(nan if one.spread_ratio is None else one.spread_ratio)
        return (
            f"{begin}: spread or shape differ: median {fixed} in fixed and {random} in random order, interquartile range in "
            f"random order {ratio} times that in fixed order "
            f"(Anderson-Darling {p_equals(one.p_distribution_corrected)})"
        )
    if one.change == "same":
        return f"{begin}: no difference found: {shift} ({p_text}, case {one.case})"
    if method == "paper":
        return f"{begin}: no difference found: {shift} ({p_text}, case {one.case})"
    rest = "; too few values for an interval" if one.shift_percent_low is None else ""
    if one.further_rounds and one.further_rounds < FAR:
        rest = f"; about {counted(one.further_rounds, 'further round')} of each order would settle it"
    return f"{begin}: open: {shift} ({p_text}, case {one.case}){rest}"


def _shift(one: TreatmentOrder, shift: st.Shift) -> str:
    estimate, percent = shift.estimate, nan if one.shift_percent is None else one.shift_percent
    if estimate == 0:
        percent = 0.0
    elif isnan(percent):
        direction = "higher" if estimate > 0 else "lower"
        return f"{useful(abs(estimate))} {direction} in fixed order, where the median is 0"
    direction = "higher" if percent >= 0 else "lower"
    low, high = one.shift_percent_low, one.shift_percent_high
    if low is None or high is None:
        return f"{useful(abs(percent))} % {direction} in fixed order"
    ends = (low, high) if percent >= 0 else (-high, -low)
    return f"{useful(abs(percent))} % ({useful(ends[0])} to {useful(ends[1])}) {direction} in fixed order"


def pair(found: PairEffect) -> str:
    """Return the sentence of a pair: "softmax is 6 % (4 to 8) higher right after spmv"."""
    return (
        f"{found.treatment} is {_size(found)} right after {found.predecessor} "
        f"({p_equals(found.p_value)}, n = {found.n})"
    )


def lasting(found: LastingEffect) -> str:
    """Return the sentence of a lasting effect: "get_hits is 73 % (73 to 74) lower once cmd_set has run in the round"."""
    alike = _among(found.alike)
    unsure = f", or {alike}, which this order does not tell apart" if alike else ""
    explained = _among(found.explains)
    beside = f"; what it is right after {explained} follows from that" if explained else ""
    return (
        f"{found.treatment} is {_size(found)} once {found.earlier} has run in the round{unsure} "
        f"({p_equals(found.p_value)}, n = {found.n_after} after, {found.n_before} before){beside}"
    )


def _size(found: PairEffect | LastingEffect) -> str:
    direction = "higher" if found.effect >= 0 else "lower"
    percent, low, high = found.percent, found.percent_low, found.percent_high
    if percent is None or low is None or high is None:
        return f"{useful(abs(found.effect))} {direction}"
    ends = (low, high) if percent >= 0 else (-high, -low)
    return f"{useful(abs(percent))} % ({useful(ends[0])} to {useful(ends[1])}) {direction}"


def conclusion(found: PairConclusion) -> str:
    """Return the sentence of two treatments under both orders."""
    fixed, random = found.fixed_winner, found.random_winner
    words: dict[Outcome, str] = {
        "same winner": f"{fixed} wins under both orders",
        "no winner": "no winner under either order",
        "another winner": f"{fixed} wins in fixed order, {random} in random order: the conclusion changes",
        "winner in one order only": (
            f"{fixed or random} wins in {'fixed' if fixed else 'random'} order only: the conclusion changes"
        ),
        "untested": "too few values",
    }
    return f"{found.first} against {found.second}: {words[found.outcome]}"


def spread(found: WorkerSpread) -> str:
    """Return whether an effect of order belongs to the machine or to the test."""
    name, alike, workers = found.treatment, found.alike, found.workers
    if alike == workers:
        return f"{name}: the same direction on all {workers} workers: a property of the test"
    if alike * 2 > workers:
        return f"{name}: the same direction on {alike} of {workers} workers"
    return f"{name}: this direction on {alike} of {workers} workers only: a property of machines"


def worker(found: WorkerDifference) -> str:
    """Return the sentence of a worker that differs."""
    size = "" if found.percent is None else f" by {useful(abs(found.percent))} %"
    what = "is lower" if (found.percent or 0) < 0 else "is higher"
    return (
        f"{found.treatment} {what}{size} on {found.worker} than on the other workers ({p_equals(found.p_corrected)})"
        if found.what == "level"
        else f"the effect of order on {found.treatment} differs{size} on {found.worker} ({p_equals(found.p_corrected)})"
    )


def sentence(found: OrderAnalysis) -> str:
    """Return the verdict in a sentence."""
    treatments, carried = found.treatments, found.carry_over
    changed = [one for one in treatments if one.change in ("location", "distribution")]
    # A pair counts once per group, however many metrics show it.
    pairs = {(group.group, pair.treatment, pair.predecessor) for group in carried for pair in group.pairs}
    number = len(changed)
    verb = "changes" if number == 1 else "change"
    parts = [f"{number} of {counted(len(treatments), 'treatment')} {verb} with the order"] if changed else []
    parts += [f"{counted(len(pairs), 'pair shows', 'pairs show')} carry-over"] if pairs else []
    lasting = {(group.group, one.treatment, one.earlier) for group in carried for one in group.lasting}
    parts += (
        [
            f"{len(lasting)} {'effect lasts' if len(lasting) == 1 else 'effects last'} for the rest of the round"
        ]
        if lasting
        else []
    )
    what = " and ".join([", ".join(parts[:-1]), *parts[-1:]] if len(parts) > 1 else parts)
    if found.verdict == "order matters":
        return f"Order matters: {what}."
    if found.verdict == "order does not matter":
        return "Order does not matter: no treatment changes by more than the margin."
    if parts:
        among = f"that is not beyond chance among {questions(treatments, carried)} families and analyses of carry-over"
        return f"Undecided: {what}, but {among}, or not beyond the margin."
    return _nothing_found(found)


def _nothing_found(found: OrderAnalysis) -> str:
    """Say what it means that no effect of order was found if none is excluded."""
    treatments = found.treatments
    if found.unvaried and not found.rounds_random:
        return "Undecided: there are no rounds in random or balanced order to compare the fixed one with."
    if found.unvaried and not treatments:
        return "Undecided: no treatment changed its position from round to round, which alone would show what it follows."
    if not treatments:
        return (
            "Undecided: without fixed and random rounds only carry-over could be judged, and none was found."
        )
    if found.method == "paper":
        return (
            "No difference found. The paper's test has no margin, so that it cannot show that there is none."
        )
    left = sum(one.change in ("open", "untested") for one in treatments)
    return f"Undecided: no effect of order was found, and for {left} of {len(treatments)} treatments none is excluded."


def next_steps(found: OrderAnalysis) -> Iterator[str]:
    """Return the next steps, the most important first; without a margin, none that refer to it."""
    treatments, carried = found.treatments, found.carry_over
    margin = found.margin if found.method == "default" else None
    pairs = [pair for group in carried for pair in group.pairs]
    lasting = [one for group in carried for one in group.lasting]
    yield from _about_pairs(pairs, lasting)
    changed = [one for one in treatments if one.change in ("location", "distribution")]
    if changed:
        yield f"Randomise the order{'' if margin is None else _rounds_for(changed, margin)}."
    if found.unvaried and found.rounds_random:
        yield "Run more rounds in random or balanced order: treatments have to change their positions."
    elif found.unvaried:
        yield 'Run rounds in random or balanced order as well (order = "fixed+random"): only these tell what the order does.'
    if found.blocked:
        yield "Interleave fixed and random rounds: as they ran, drift cannot be told from order."
    yield from _about_trends(carried)
    yield from _about_open(treatments)
    safe = [one.treatment for one in treatments if one.change in ("same", "small")]
    if safe and not pairs and not lasting:
        yield f"Safe in any order: {_among(safe)}."
    if not treatments and not pairs and not lasting and margin is not None:
        yield from _about_carry_over(carried, margin)


def _about_pairs(pairs: Sequence[PairEffect], lasting: Sequence[LastingEffect]) -> Iterator[str]:
    victims: dict[str, list[str]] = {}
    for one in lasting:
        victims.setdefault(one.earlier, []).append(one.treatment)
    looks = [
        f"Look at {earlier}: what does it leave for {_among(names)} until the next reset?"
        for earlier, names in victims.items()
    ]
    looks += [
        f"Look at {one.predecessor} before {one.treatment}: what does {one.predecessor} leave behind?"
        for one in pairs
    ]
    yield from list(dict.fromkeys(looks))[:_MOST]
    culprits = [*(one.earlier for one in lasting), *(one.predecessor for one in pairs)]
    if lasting:
        yield f"Reset before each trial, or at least after {_among(culprits)}."
    elif pairs:
        yield f"Reset between trials, at least after {_among(culprits)}."


def _about_trends(carried: Sequence[GroupCarryOver]) -> Iterator[str]:
    for higher, what in ((True, "higher"), (False, "lower")):
        moved = _moved(carried, "first", higher=higher)
        if moved:
            yield (
                f"Mind the first trial after a reset ({moved}): it is {what} than its position alone would make it; "
                "let something run before it that is not measured."
            )
    for name, advice in (
        (
            "position",
            "results move with the position in a round: reset between trials, or use balanced order",
        ),
        ("drift", "results drift from round to round: compare treatments within rounds only"),
    ):
        moved = _moved(carried, name)
        if moved:
            yield f"Mind the {name} ({moved}): {advice}."


def _moved(carried: Sequence[GroupCarryOver], name: str, *, higher: bool | None = None) -> str:
    """Return the metrics and groups with a trend, in the given direction if any; empty if none has one."""
    moved: list[str] = []
    for group in carried:
        trend: st.Trend = getattr(group, name)
        clear = trend.p_value * len(carried) < 1 - group.confidence / 100
        if clear and (higher is None or (trend.estimate > 0) == higher):
            moved.append(_named(group.metric, group.group))
    return ", ".join(moved)


def _about_open(treatments: Sequence[TreatmentOrder]) -> Iterator[str]:
    needed = [
        (one.further_rounds, one.n_fixed + one.n_random)
        for one in treatments
        if one.change == "open" and one.further_rounds
    ]
    within = [rounds for rounds, trials in needed if not is_hopeless(rounds, trials)]
    beyond = [rounds for rounds, trials in needed if is_hopeless(rounds, trials)]
    if within:
        what = (
            "the open treatment is"
            if len(needed) == 1
            else f"each of {_of_open(len(within), len(needed))} is"
        )
        yield (
            f"Run {max(within)} further rounds of each order: {what} then settled with a probability of 90 %; "
            "or widen --margin."
        )
    if beyond:
        what = "the open treatment" if len(needed) == 1 else _of_open(len(beyond), len(needed))
        yield (
            f"More rounds will hardly settle {what}: {_rounds(max(beyond))} of each order would be needed. Make trials "
            "less noisy, or widen --margin."
        )


def _of_open(some: int, needed: int) -> str:
    return f"the {needed} open treatments" if some == needed else f"{some} of the {needed} open treatments"


def _rounds(further: int) -> str:
    return f"about {counted(further, 'further one')}" if further < FAR else f"more than {FAR} further ones"


def _about_carry_over(carried: Sequence[GroupCarryOver], margin: float) -> Iterator[str]:
    known = [group.not_excluded for group in carried if group.not_excluded is not None]
    if not known:
        return
    further, trials = max(((group.further_rounds or 0, group.n) for group in carried), default=(0, 0))
    reach = f"Effects of predecessors up to {useful(max(known))} % are not excluded"
    if not further:
        yield f"Safe in any order as far as predecessors go: none shifts a treatment by more than {as_given(margin)} %."
    elif is_hopeless(further, trials):
        yield (
            f"{reach}, and more rounds will hardly do it: {_rounds(further)} would be needed to show that none exceeds "
            f"{as_given(margin)} %. Make trials less noisy, or widen --margin."
        )
    else:
        yield (
            f"{reach}: {counted(further, 'further round')} would show that none exceeds {as_given(margin)} %, or widen --margin."
        )
    yield "Add rounds in fixed order to see what a fixed order would have done."


def _rounds_for(changed: Sequence[TreatmentOrder], margin: float) -> str:
    """Return the rounds after which the interval of each median under random order is within the margin."""
    needed = 0.0
    for one in changed:
        if one.random is not None and one.random.median:
            half = 50 * (one.random.high - one.random.low) / abs(one.random.median)
            needed = max(needed, one.n_random * (half / margin) ** 2)
    if not 0 < needed < FAR:
        return ""
    return f" and use {max(int(needed) + 1, 6)} rounds, for medians to within {as_given(margin)} %"
