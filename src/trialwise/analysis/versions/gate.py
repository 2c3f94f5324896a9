"""The gate for a change: it passes if it is no worse than the margin allows."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from trialwise import statistics as st
from trialwise.analysis.comparison.results import ComparisonRow
from trialwise.analysis.versions.results import Outcome
from trialwise.experiment.model import Better


def outcome_of(row: ComparisonRow) -> Outcome:
    """Return the outcome of a comparison row for a gate; nothing without inference."""
    if row.difference is None or row.verdict == "no inference":
        return "undecided"
    return judged_outcome(row.verdict, row.difference, row.metric.better)


def judged_outcome(verdict: st.Verdict, difference: st.Difference, better: Better | None) -> Outcome:
    """Return fine if equivalent, better, or not worse by the margin. A difference in an unknown direction is worse."""
    if verdict == "different":
        rises = "higher" if difference.welch.estimate > 0 else "lower"
        return "fine" if rises == better else "worse"
    return "fine" if verdict == "equivalent" or not_worse(difference, better) else "undecided"


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """Return worse if any outcome is worse, fine if all are fine.

    "All fine" requires each outcome to be fine, so it needs no correction for multiplicity (intersection-union test: Berger 1982).
    """
    if "worse" in outcomes:
        return "worse"
    return "fine" if outcomes and all(one == "fine" for one in outcomes) else "undecided"


def not_worse(difference: st.Difference, better: Better | None) -> bool:
    """Return True if the interval excludes that the second side is worse by the margin or more (non-inferiority)."""
    if better is None or difference.margin is None:
        return False
    if difference.margin_percent is None:
        bounds, margin = (difference.welch.low, difference.welch.high), difference.margin
    elif difference.means[0] > 0 and difference.percent.excluded is None:
        bounds, margin = (difference.percent.low, difference.percent.high), difference.margin_percent
    else:
        return False
    worst = bounds[1] if better == "lower" else -bounds[0]
    return isfinite(worst) and worst < margin
