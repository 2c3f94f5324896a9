"""Section [design]: the number of trials, their order, and their times."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from trialwise.experiment.factors import Factor, FixedFactor
from trialwise.experiment.file.sections import Limits, Section, Written, key
from trialwise.experiment.file.values import Count, Level, LevelOf, PositiveDuration, Text, several
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.problems import Problems, nearest
from trialwise.experiment.windows import BetweenTimes
from trialwise.rules import RULES, RuleName

Looks = RuleName
"""The stopping rules."""
Order = Literal["random", "fixed", "fixed+random", "balanced"]
_Auto = Annotated[
    int | None,
    Written(
        Literal["auto"] | Count,
        lambda value: None if value == "auto" else value,
        lambda value: "auto" if value is None else value,
    ),
]


def _base(text: str) -> tuple[str, Level]:
    name, _, level = text.partition("=")
    return name, level


_Base = Annotated[
    tuple[str, Level],
    Written(LevelOf, _base, lambda base: f"{base[0]}={level_text(base[1])}"),
]


@dataclass(frozen=True, slots=True)
class Design(Section):
    """How many trials, in what order, and when (the four parameters of the experiment in TriScale's Table 2).

    `series` and `rounds` are None where the objectives decide; `span` is the length of a series in seconds, None
    for back to back. With `stop` at verdict, or a metric that says when it is known well enough, the experiment ends before
    `max_trials` of each treatment; `looks` says how that is found without harm to the intervals, and `pilot` is the number of
    trials of each treatment that the forecast is made from. `budget` is in seconds. Comparisons are those of each treatment
    with its like at `base`, a factor and its level; None: of all pairs. The factors `unseen` are known to nobody but the records: what
    runs is not told their levels.
    """

    order: Order = key(
        "random",
        "Order of the treatments in each round: drawn anew; that of the file; half of the rounds each, "
        "mixed; or each treatment equally often right after each other.",
        "balanced",
    )
    series: _Auto = key(None, "Number of series; auto: as many as the variability scores need.", 5)
    rounds: _Auto = key(None, "Rounds in each series; auto: as many as the KPIs need.", 30)
    span: PositiveDuration | None = key(
        None,
        "Time over which the rounds of a series are spread at random; without it they run back to back.",
        "24h",
    )
    between: BetweenTimes | None = key(
        None,
        "Times of day between which trials run, by the clock of the machine that runs the experiment; a trial that would take longer "
        "begins in the next window.",
        "22:00-06:00",
    )
    robustness: Annotated[int, Limits(ge=0, le=10_000)] = key(
        0, "Extreme values that an interval must be able to leave out.", 1
    )
    warmup_trials: Annotated[int, Limits(ge=0, le=10_000)] = key(
        0, "Trials of each treatment run and not counted, before each series.", 1
    )
    stop: Literal["plan", "verdict"] = key(
        "plan",
        "Whether the plan is run to its end, or until every comparison is decided; needs a margin of a metric.",
        "verdict",
    )
    looks: Looks = key(
        "two-stage",
        "How it is found that enough has run: "
        + "; ".join(f"{rule.name} {rule.words}" for rule in RULES.values())
        + ". Default: two-stage, or geometric where simulated trials end by the precision of metrics alone.",
        "anytime",
        derived=True,
    )
    pilot: Annotated[int, Limits(ge=3, le=10_000)] = key(
        20, "Trials of each treatment that the forecast is made from.", 10
    )
    max_trials: Count = key(
        1000,
        "Trials of each treatment at most, where something says when to stop; default 1000, of kind simulation 10000.",
        200,
        derived=True,
    )
    budget: PositiveDuration | None = key(None, "Time at most, where something says when to stop.", "2h")
    unseen: Annotated[tuple[str, ...], several(Text)] = key(
        (),
        "Factors whose levels all run the very same thing: no text uses them, and what runs cannot tell them apart.",
        ["side"],
    )
    base: _Base | None = key(
        None, "The level that others are compared with; default all pairs of treatments.", "flavour=none"
    )


def completed(design: Design, factors: Sequence[Factor], problems: Problems) -> Design:
    """Resolve the factors of the design; note a missing factor or level."""
    fixed = {factor.name: factor for factor in factors if isinstance(factor, FixedFactor)}
    for index, name in enumerate(design.unseen):
        if name not in fixed:
            problems.add(("design", "unseen", index), f"no factor {name!r} with levels", nearest(name, fixed))
    base = None if design.base is None else _looked_up(*design.base, fixed, problems)
    return dataclasses.replace(design, unseen=tuple(dict.fromkeys(design.unseen)), base=base)


def _looked_up(
    name: str, wanted: Level, fixed: dict[str, FixedFactor], problems: Problems
) -> tuple[str, Level] | None:
    if name not in fixed:
        problems.add(("design", "base"), f"no factor {name!r} with levels", nearest(name, fixed))
        return None
    levels = {level_text(level): level for level in fixed[name].levels}
    if wanted not in levels:
        problems.add(("design", "base"), f"{name} has no level {wanted!r}", f"there are: {', '.join(levels)}")
        return None
    return name, levels[str(wanted)]
