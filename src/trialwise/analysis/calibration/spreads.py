"""Sources of noise of a bench: its variance by level."""

from __future__ import annotations

from math import isfinite

from trialwise import statistics as st
from trialwise.analysis.calibration.results import LevelSpread, Spread
from trialwise.errors import StatisticsError
from trialwise.late import pl

NESTED = ("host", "boot", "build", "process", "round", "trial")
"""The levels that are distinguished: builds only if a boot has several, and processes, in place of the rounds that they run
through, only if trials share one.
"""


def spread_of(metric: str, treatment: str, trials: pl.DataFrame, confidence: float) -> Spread:
    """Split the variance of one metric of one treatment; if that fails, the note says why."""
    several = trials["build"].n_unique() > trials["boot"].n_unique()
    shared = trials["process"].n_unique() < trials["trial"].n_unique()
    left_out = {"round" if shared else "process", *([] if several else ["build"])}
    levels = [name for name in NESTED if name not in left_out]
    table = {name: trials[name].to_numpy() for name in (*levels, "value")}
    try:
        found = st.variance_components(table, "value", levels, confidence=confidence)
    except StatisticsError as error:
        return Spread(metric, treatment, (), trials.height, confidence, "", str(error))
    total = sum(one.variance for one in found.estimable)
    return Spread(
        metric=metric,
        treatment=treatment,
        levels=tuple(_level(one, total) for one in found.components.values()),
        n=found.n,
        confidence=found.confidence,
        method=found.method,
        note=found.note,
    )


def _level(one: st.Component, total: float) -> LevelSpread:
    known = not one.reason
    return LevelSpread(
        level=one.level,
        units=one.units,
        variance=one.variance if known else None,
        low=one.low if known and isfinite(one.low) else None,
        high=one.high if known and isfinite(one.high) else None,
        share=100 * one.variance / total if known and total else None,
        includes=one.includes,
        reason=one.reason,
    )
