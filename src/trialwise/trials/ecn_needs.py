"""Whether a path lets through the ECN field that a scheme needs: without it, the scheme is another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trialwise.experiment.trials import PathSettings
from trialwise.measurement.joining import Crossing
from trialwise.numbers import counted
from trialwise.trials.path_plan import FlowPlan, describe

MOST_CHANGED = 0.01
"""Share of the packets with ECT(1) that may arrive without it and without a mark."""
_FATES = {"bleach": "clears the ECN field", "drop-ect1": "drops packets with ECT(1)"}


def unfit_path(plans: Sequence[FlowPlan], settings: PathSettings) -> str | None:
    """Return why trials of these flows over an emulated path are invalid; None if they are not.

    Raises
    ------
    PlanError
        A link is invalid.
    """
    for plan in _needy(plans):
        if fate := describe(settings, plan.flow.direction).ecn:
            return _refused(plan, f"the {plan.flow.direction} {_FATES[fate]}")
    return None


def unfit_crossing(plans: Sequence[FlowPlan], crossings: Mapping[str, Crossing]) -> str | None:
    """Return why a trial over a real path is invalid, by what became of packets of each direction; None if it is not."""
    for plan in _needy(plans):
        if told := _what_became(crossings[plan.flow.direction]):
            return _refused(plan, f"on the {plan.flow.direction} {told}")
    return None


def _what_became(crossing: Crossing) -> str | None:
    """Return what is wrong with packets that left with ECT(1)."""
    sent, arrived = crossing.ect1_sent, crossing.ect1_kept + crossing.ect1_marked
    changed = crossing.ect1_as_ect0 + crossing.ect1_cleared
    if not sent:
        return "no packet left with it"
    if changed > MOST_CHANGED * (arrived + changed):
        return (
            f"{arrived + changed} packets with it arrived, of which {crossing.ect1_cleared} had lost it "
            f"and {crossing.ect1_as_ect0} had ECT(0)"
        )
    return None if arrived else f"none of {counted(sent, 'packet')} with it arrived"


def _needy(plans: Iterable[FlowPlan]) -> Iterator[FlowPlan]:
    return (plan for plan in plans if plan.scheme.needs.ecn == "ect1")


def _refused(plan: FlowPlan, told: str) -> str:
    return f"flow {plan.number} ({plan.scheme.name}) needs ECT(1), and {told}: what was measured is not the scheme"
