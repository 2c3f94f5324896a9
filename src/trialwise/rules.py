"""Stopping rules: their names, when they look, what they judge, and how they are described.

Everything that differs between rules is in these records: the experiment file, its checks and its reference, the sequential
estimators, plans, reports and advice read it here. To add a rule, add a record to `RULES` and a name to `RuleName`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

RuleName = Literal["two-stage", "geometric", "anytime", "cceval"]
Judged = Literal[
    "mean", "percentile", "verdict", "pooled verdict", "pooled", "batches", "weighted", "blocks", "controls"
]
"""What a rule may judge: the mean or a percentile of one number per trial, or a score; comparisons, also of pooled data; a measure of
all samples; CCEval's batches of tilted trials, or all of these weighted; blocks of Sobol samples; an interval with controls.
"""
BATCH = 40
"""CCEval's K: trials of a batch."""
MIN_BLOCKS = 8
"""Blocks of Sobol samples before the first look: with fewer, the standard error of a pooled quantile is too small, and Student's
factor outweighs the gain.
"""
_SAMPLES: frozenset[Judged] = frozenset({"mean", "pooled", "batches", "weighted", "blocks", "controls"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One stopping rule.

    Parameters
    ----------
    name
        In the experiment file: `design.looks`.
    possessive
        In messages: "… rule knows a mean only".
    source
        Paper and equation.
    judges
        What it can judge.
    plan
        What it does, for a plan; `{pilot}` is the number of pilot trials.
    words
        What it does, for a report.
    method
        How its intervals are made, with `{level}`, the reported confidence, `{inner}`, the one it looks at, and `{start}`.
    interval
        Basis of its interval: Student's t, a normal quantile, a confidence sequence; None if each claim has its own.
    start
        Trials before its first look.
    growth
        The next look is at the trials of the last one times this, rounded up, and at least one more.
    share
        The interval that it looks at misses with this share of the reported error probability.
    relative_only
        Whether it supports only a precision in percent.
    judges_once
        Whether it looks twice, at a pilot and at fresh trials, instead of while trials arrive.
    starts_at_pilot
        Whether its first look is at as many trials as a pilot has.
    goes_on
        Whether more trials may follow after it has stopped.
    ended
        Why an experiment ends when the rule has finished.
    lifts
        What to do about a claim that is still open when the experiment has ended.
    warning
        What is wrong with its intervals; empty if they keep their level.
    """

    name: RuleName
    possessive: str
    source: str
    judges: frozenset[Judged]
    plan: str
    words: str
    method: str = ""
    interval: Literal["student", "normal", "sequence"] | None = None
    start: int = 2
    growth: float = 1.0
    share: float = 1.0
    relative_only: bool = False
    judges_once: bool = False
    starts_at_pilot: bool = False
    goes_on: bool = False
    ended: str = "every rule has come to its end"
    lifts: str = "raise max_trials (--extend) or the budget and go on: the rule has not come to its end; or ask for less"
    warning: str = ""


TWO_STAGE = Rule(
    name="two-stage",
    possessive="the two-stage",
    source="Stein 1945; Mukhopadhyay 1980",
    judges=frozenset({"mean", "percentile", "verdict", "pooled verdict"}),
    plan="looks twice: a pilot of {pilot} forecasts how many fresh ones are run, and these are judged once",
    words="looks twice: a pilot forecasts how many fresh trials are run, and these are judged once",
    judges_once=True,
    ended="the trials that the pilot asked for have run, and are judged once",
    lifts="more trials now, until it is narrow, would break the level: begin anew in another directory, with a longer pilot "
    "(its forecast is steadier), more max_trials or budget where these cut it short, or ask for less",
)
GEOMETRIC = Rule(
    name="geometric",
    possessive="the geometric",
    source="docs/concepts/statistics.md, its coverage by simulation",
    judges=_SAMPLES,
    plan="looks at growing numbers of trials, each a tenth more; each claim ends at its first narrow look",
    words="looks from 30 trials on, each time at a tenth more, by intervals that miss with four fifths of what is reported",
    method="Student's t at {inner} for a reported {level}, looks from {start} trials on, each at a tenth more",
    interval="student",
    start=30,
    growth=1.1,
    share=0.8,
)
ANYTIME = Rule(
    name="anytime",
    possessive="the anytime",
    source="Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024",
    judges=frozenset({"mean", "percentile", "verdict", "pooled"}),
    plan="looks after every round, by bounds that hold at all looks together",
    words="looks after each round, by bounds that hold at all looks together",
    method="asymptotic confidence sequence at {level}, looks from {start} trials on at any time",
    interval="sequence",
    start=50,
    growth=1.02,
    goes_on=True,
    lifts="raise max_trials (--extend) or the budget and go on: bounds at any time allow that; or ask for less",
)
CCEVAL = Rule(
    name="cceval",
    possessive="cceval's",
    source="CCEval, Algorithm 1 and Eqs. 2 and 3",
    judges=frozenset({"mean", "batches"}),
    plan="looks after every round by CCEval's rule, whose intervals hold less often than they say",
    words="looks after each round, by CCEval's rule for a mean, whose intervals cover less than they say",
    method="CCEval: normal quantile at {level}, a look after every trial from {start} on",
    interval="normal",
    start=20,
    relative_only=True,
    starts_at_pilot=True,
    warning="the rule looks after every trial and stops where the spread happens to be small: nominal 95 % intervals held in 93 to "
    "95 % (normal, from 20 trials), 79 to 96 % (from 3), 76 to 95 % (Pareto 2.5) and 0 to 35 % where rare trials are far "
    "off; the two-stage rule or a confidence sequence keeps its level",
)
RULES: dict[str, Rule] = {rule.name: rule for rule in (TWO_STAGE, GEOMETRIC, ANYTIME, CCEVAL)}
SEQUENTIAL = tuple(rule.name for rule in RULES.values() if not rule.judges_once)
"""Names of the rules that look while trials arrive."""


def judging(judged: Judged, among: Iterable[Rule] = tuple(RULES.values())) -> str:
    """Name the rules that judge something, for a hint: `take looks = "geometric"`, or several with "or"."""
    names = [f'"{rule.name}"' for rule in among if judged in rule.judges]
    return f"take looks = {' or '.join(names)}" if names else "no rule judges that"
