"""Flows that one end never answered, although their packets came to its interface: something there keeps them from the program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trialwise.measurement.joining import TCP
from trialwise.measurement.sightings import CAME, SENT, Sightings
from trialwise.schemes.library import SHIPPED
from trialwise.trials.path_plan import FlowPlan


def unanswered(
    plans: Sequence[FlowPlan], seen: tuple[Sightings, Sightings], names: tuple[str, str], port: int
) -> tuple[str, str] | None:
    """Return which flow an end left without an answer, and what to try; None if both ends of each flow sent.

    A capture sees what a firewall of its own machine drops afterwards. Programs of others may speak UDP without answers.

    Parameters
    ----------
    plans
        The flows.
    seen
        What both ends saw.
    names
        Of the ends.
    port
        Of the probes; those of flows come after it.
    """
    for plan in plans:
        sent, came = ([_count(end, plan.number, way) for end in seen] for way in (SENT, CAME))
        for quiet, other in ((1, 0), (0, 1)):
            if sent[other] and came[quiet] and not sent[quiet] and _asks_for_answers(plan, seen[other]):
                here, there = names[other], names[quiet]
                flow = f"flow {plan.number} ({plan.scheme.name})"
                return (
                    f"{flow}: {came[quiet]} packets from {here} came to {there}, which answered none",
                    f"let port {port + plan.number} pass the firewall of {there}",
                )
    return None


def _count(end: Sightings, flow: int, way: int) -> int:
    records = end.records
    return int(np.count_nonzero((records["flow"] == flow) & (records["direction"] == way)))


def _asks_for_answers(plan: FlowPlan, end: Sightings) -> bool:
    """Return True if nothing flows without answers: over TCP, and with the schemes that are shipped."""
    records = end.records
    of_flow = records["protocol"][(records["flow"] == plan.number) & (records["direction"] == SENT)]
    return plan.scheme.source.parent == SHIPPED or bool((of_flow == TCP).all())
