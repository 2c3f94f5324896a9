"""The verdict on two versions by a whole suite: a pilot that screens all benchmarks, and fresh trials that confirm.

The order of the two versions is drawn anew in each round, and their trials of a round are a pair: what changes slowly, or makes all
benchmarks of a moment slow, cancels. A benchmark is worse only if fresh trials alone say so. What the pilot picked, for whatever
reason, shares most of their error, so that the other benchmarks cost little (two-stage screening: Zehetmayer, Bauer and Posch 2005;
weights from data that the tests do not use: Genovese, Roeder and Wasserman 2006).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.calibration.noise_floor import with_floor
from trialwise.analysis.calibration.results import Calibration
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.analysis.comparison.geometric import geometric_means
from trialwise.analysis.comparison.results import Comparison, ComparisonRow, GeometricMean
from trialwise.analysis.comparison.sides import selected
from trialwise.analysis.trial_set import TrialSet
from trialwise.analysis.versions.gate import not_worse, outcome_of, together
from trialwise.analysis.versions.looks import BASE, HEAD, VERSION
from trialwise.analysis.versions.reach import (
    MOST,
    Errors,
    Reach,
    chance,
    deviation_at_most,
    deviations,
    found_rounds,
    found_slowdown,
)
from trialwise.analysis.versions.results import Outcome, Stage
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Extent
from trialwise.late import pl, special
from trialwise.numbers import write

LARGER = 5 / 3
"""The change, as a multiple of the margin, that fresh trials are to find: 5 % for a margin of 3 %."""
_POWER = 0.95
_SCREEN = 0.05
"""One-sided error of the pilot's screening, for each benchmark by itself; fresh trials judge what it lets through."""
_PICKED = 0.8
"""Share of the error of fresh trials for what the pilot picked; the rest is for benchmarks that it left open and did not pick."""
_SLACK = 1.25
"""A budget that is named allows for rounds that take so many times as long as those of the pilot."""
_BREAK = 20
"""Times the median between two trials from which on the run was interrupted."""
_FEWEST = 5
"""Fresh rounds without which nothing is confirmed: a test of two or three leans on their being normal."""


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """`pilot` rounds, then fresh ones up to `most` in all; verdicts at `confidence` percent over both looks, by the margin.

    With `fixed` there is one look, after that many rounds, and nothing is confirmed.
    """

    pilot: int
    most: int
    confidence: float
    margin: Extent
    correction: st.Correction = "holm"
    fixed: int | None = None

    @property
    def each(self) -> float:
        """The confidence of one look, in percent: both share the error probability (Bonferroni)."""
        return self.confidence if self.fixed else 100 - (100 - self.confidence) / 2


@dataclass(frozen=True, slots=True)
class Screened:
    """The pilot's comparison with the outcome of each row, and which metrics `crossed` to the worse and are to be confirmed.

    `fresh` is the number of fresh rounds that decide what is open, as far as a feasible number does; 0 if there is nothing to decide.
    """

    rounds: int
    comparison: Comparison
    outcomes: tuple[Outcome, ...]
    crossed: tuple[str, ...]
    fresh: int


@dataclass(frozen=True, slots=True)
class SuiteVerdict:
    """A comparison of head with base, one row a benchmark, with the outcome of each and the trials that it rests on.

    Geometric means are of the first look. `crossed` are the metrics that the pilot found worse and that fresh trials had to confirm.
    """

    outcome: Outcome
    comparison: Comparison
    outcomes: tuple[Outcome, ...]
    stages: tuple[Stage, ...]
    crossed: tuple[str, ...]
    rounds: tuple[int, int]
    """Of the first look, and fresh ones."""


def screened(trials: TrialSet, plan: SuitePlan, floor: Calibration | None = None) -> Screened:
    """Judge the pilot, whose trials these are: what is fine, what crossed, and how many fresh rounds decide the rest.

    A metric crosses if the pilot shows a change for the worse at 5 % one-sided, and does not show that it is less than the margin.

    Raises
    ------
    AnalysisError
        The versions have no metric in common.
    """
    found = _compared(trials, plan, floor)
    outcomes: tuple[Outcome, ...] = tuple(_outcome(row) for row in found.rows)
    rows = list(zip(found.rows, outcomes, strict=True))
    still = [row for row, outcome in rows if outcome != "fine"]
    crossed = [row for row in still if _crosses(row)]
    still_open = [row for row in still if not _crosses(row)]
    names = tuple(row.metric.name for row in crossed)
    return Screened(
        _number(trials),
        dataclasses.replace(found, geometric_means=_means(trials, found, plan)),
        tuple(_unconfirmed(outcome) for outcome in outcomes),
        names,
        _fresh(crossed, still_open, plan),
    )


def confirmed(
    first: Screened, later: TrialSet, plan: SuitePlan, floor: Calibration | None = None
) -> SuiteVerdict:
    """Judge by the fresh rounds alone, which are those of `later`, whatever the pilot left open."""
    rows, outcomes = list(first.comparison.rows), list(first.outcomes)
    stages: list[Stage] = ["pilot"] * len(rows)
    open_names = [row.metric.name for row, one in zip(rows, outcomes, strict=True) if one != "fine"]
    others = [name for name in open_names if name not in first.crossed]
    for names, share in zip((first.crossed, others), _shares(first.crossed, others), strict=True):
        again = _again(later, names, plan, floor)
        for at, row in enumerate(rows):
            if (new := again.get(row.metric.name)) is not None:
                rows[at], outcomes[at], stages[at] = *_within(new, share, plan), "fresh"
    comparison = dataclasses.replace(first.comparison, rows=tuple(rows))
    return SuiteVerdict(
        together(outcomes),
        comparison,
        tuple(outcomes),
        tuple(stages),
        first.crossed,
        (first.rounds, _number(later)),
    )


def _unconfirmed(outcome: Outcome) -> Outcome:
    return "undecided" if outcome == "worse" else outcome


def _shares(picked: Sequence[str], others: Sequence[str]) -> tuple[float, float]:
    """Return the shares of the error of the fresh trials: all of it for one group where the other is empty."""
    return (_PICKED if others else 1.0), (1 - _PICKED if picked else 1.0)


def _within(row: ComparisonRow, share: float, plan: SuitePlan) -> tuple[ComparisonRow, Outcome]:
    """Return a row and its outcome; it is open if it is worse at the level of a look, but not at its group's share of it."""
    outcome = _outcome(row)
    alpha = share * (1 - plan.each / 100)
    if outcome != "worse" or row.p_adjusted is None or row.p_adjusted <= alpha:
        return row, outcome
    reason = f"it differs by itself, and not at the {write(100 * alpha, digits=2)} % that its group of benchmarks shares"
    return dataclasses.replace(row, verdict="undecided", reason=reason), "undecided"


def judged_once(trials: TrialSet, plan: SuitePlan, floor: Calibration | None = None) -> SuiteVerdict:
    """Judge all rounds at once, all metrics as one family.

    Raises
    ------
    AnalysisError
        The versions have no metric in common.
    """
    found = _compared(trials, plan, floor)
    outcomes: tuple[Outcome, ...] = tuple(_outcome(row) for row in found.rows)
    found = dataclasses.replace(found, geometric_means=_means(trials, found, plan))
    return SuiteVerdict(
        together(outcomes), found, outcomes, ("all",) * len(outcomes), (), (_number(trials), 0)
    )


def rounds_of(trials: TrialSet, first: int, last: int | None = None) -> TrialSet:
    """Return the trials of these rounds."""
    number = pl.col("round").str.split(".").list.last().cast(pl.Int64)
    wanted = number >= first if last is None else number.is_between(first, last)
    return dataclasses.replace(trials, table=trials.table.filter(wanted))


def complete_rounds(trials: TrialSet) -> int:
    """Return the number of the last round that both versions ran; 0 if there is none."""
    number = pl.col("round").str.split(".").list.last().cast(pl.Int64)
    last = trials.table.group_by("treatment").agg(number.max())["round"].to_list()
    return min(last) if len(last) > 1 else 0


def reach_of(
    first: Screened, plan: SuitePlan, seconds: float, left: float | None, warmup: int = 1
) -> Reach | None:
    """Return which slowdown the fresh rounds find; None where the margin is no share, or too few rounds have values.

    Parameters
    ----------
    seconds
        Duration of a round of both suites.
    left
        What the budget leaves for fresh rounds, in seconds; None for no limit.
    warmup
        Rounds before the pilot's.
    """
    spread = deviations(first.comparison.rows)
    if not plan.margin.relative or not spread.size or not seconds:
        return None
    affordable = plan.most if left is None else int(left / seconds)
    rounds = min(first.fresh, affordable, plan.most - first.rounds)
    errors = _errors(first, plan)

    def at(slowdown: float, fresh: int) -> float:
        return chance(slowdown, fresh, first.rounds, spread, plan.margin, errors)

    wanted = LARGER * plan.margin.value
    needed = found_rounds(lambda fresh: at(wanted, fresh), _least(2 * errors.picked))
    found = (
        None if rounds < _FEWEST else found_slowdown(lambda percent: at(percent, rounds), plan.margin.value)
    )
    pilot = first.rounds + warmup
    budget = None if needed is None else _SLACK * seconds * max(2 * pilot, pilot + needed)
    return Reach(rounds, found, wanted, needed, budget)


def _errors(first: Screened, plan: SuitePlan) -> Errors:
    """Return the errors of a slower benchmark's tests, if it joins what has crossed, or what is open and has not."""
    alpha = (1 - plan.each / 100) / 2
    crossed = len(first.crossed)
    others = sum(outcome != "fine" for outcome in first.outcomes) - crossed
    return Errors(_SCREEN, _PICKED * alpha / (crossed + 1), (1 - _PICKED) * alpha / (others + 1))


def seconds_of_round(trials: TrialSet) -> float:
    """Return the mean time between trials that follow each other without a break, times two; 0 if there is none."""
    apart = np.diff(trials.table["started"].drop_nulls().unique().sort().to_numpy())
    apart = apart[apart <= _BREAK * np.median(apart)] if apart.size else apart
    return 2 * float(apart.mean()) if apart.size else 0.0


def _number(trials: TrialSet) -> int:
    """Return the number of rounds that have trials of both versions."""
    both = trials.table.group_by("round").agg(pl.col("treatment").n_unique())
    return both.filter(pl.col("treatment") > 1).height


def _compared(trials: TrialSet, plan: SuitePlan, floor: Calibration | None) -> Comparison:
    options = CompareOptions(plan.each, plan.margin, level="trial", correction=plan.correction)
    comparison = compare(*_sides(trials), options)
    return comparison if floor is None else with_floor(comparison, floor)


def _sides(trials: TrialSet) -> tuple[TrialSet, TrialSet]:
    """Return base and head, each with the metrics that it has, in pairs: the trials of a round have one name."""
    base, head = (_paired(selected(trials, {VERSION: [version]}, version)) for version in (BASE, HEAD))
    return base, head


def _paired(side: TrialSet) -> TrialSet:
    there = set(side.table["metric"].unique())
    units = [pl.col("round").alias("process"), pl.col("round").alias("trial")]
    apart = [pl.lit("").alias(level) for level in ("host", "boot", "build")]
    return dataclasses.replace(
        side,
        metrics={name: facts for name, facts in side.metrics.items() if name in there},
        table=side.table.with_columns(*units, *apart),
    )


def _means(trials: TrialSet, found: Comparison, plan: SuitePlan) -> tuple[GeometricMean, ...]:
    return geometric_means(found.rows, *_sides(trials), plan.confidence, "trial")


def _outcome(row: ComparisonRow) -> Outcome:
    """Return the outcome of a row; where no trial of either version has anything but 0, nothing is worse by any share."""
    values = np.concatenate([row.units.a, row.units.b])
    if row.difference is not None and not values.any():
        return "fine" if row.difference.welch.high == 0 else "undecided"
    return outcome_of(row)


def _crosses(row: ComparisonRow) -> bool:
    one = row.difference
    if one is None or one.p_value >= 2 * _SCREEN or not_worse(one, row.metric.better):
        return False
    rises: Literal["higher", "lower"] = "higher" if one.welch.estimate > 0 else "lower"
    return rises != row.metric.better


def _again(
    later: TrialSet, names: Collection[str], plan: SuitePlan, floor: Calibration | None
) -> dict[str, ComparisonRow]:
    """Return the rows of these metrics by the fresh trials alone, as one family; none from fewer rounds than `_FEWEST`."""
    table = later.table.filter(pl.col("metric").is_in(list(names)))
    if table.is_empty() or _number(later) < _FEWEST:
        return {}
    try:
        found = _compared(dataclasses.replace(later, table=table), plan, floor)
    except AnalysisError:
        return {}
    return {row.metric.name: row for row in found.rows if row.difference is not None}


# How many fresh rounds


def _fresh(crossed: Sequence[ComparisonRow], still_open: Sequence[ComparisonRow], plan: SuitePlan) -> int:
    """Return the fresh rounds that find a change of `LARGER` times the margin, and show for what is open that there is none.

    Where no feasible number does, they are as many as the pilot's: much larger changes show in them.
    """
    if not crossed and not still_open:
        return 0
    alpha = 1 - plan.each / 100
    bills = [_rounds(row, alpha * _PICKED / len(crossed), LARGER - 1) for row in crossed]
    bills += [_rounds(row, alpha, 1.0) for row in still_open]
    return max((bill for bill in bills if bill is not None), default=plan.pilot)


def _least(alpha: float) -> int:
    """Return the fewest fresh rounds that are asked for: by ranks, those that show something if nothing varies."""
    return max(_FEWEST, 2 + ceil(-np.log2(alpha)))


def _rounds(row: ComparisonRow, alpha: float, beyond: float) -> int | None:
    """Return the rounds after which `beyond` times the margin is this many standard errors: critical value plus that of the power."""
    one = row.difference
    if one is None or one.margin is None or (not one.margin and one.welch.se):
        return None
    deviation = deviation_at_most(one)
    rounds = least = _least(alpha)
    if not deviation:
        return least
    for _ in range(5):  # the critical value falls with the rounds, so that each pass comes closer
        reach = float(special.stdtrit(rounds - 1, 1 - alpha / 2)) + float(special.ndtri(_POWER))
        rounds = max(least, ceil(min((reach * deviation / (beyond * one.margin)) ** 2, MOST)))
    return rounds if rounds < MOST else None
