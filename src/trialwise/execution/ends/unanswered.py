"""Flows whose packets came to an interface and not to the program: something on that machine keeps them from it.

A capture sees what a firewall of its own machine drops afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from trialwise.execution.ends.records import EndRecord
from trialwise.execution.ends.reports import objects_of
from trialwise.measurement.joining import TCP
from trialwise.measurement.sightings import CAME, SENT, Sightings
from trialwise.numbers import counted
from trialwise.schemes.library import SHIPPED
from trialwise.trials.path_plan import FlowPlan


@dataclass(frozen=True, slots=True)
class _Flow:
    """A flow as both ends saw it: the packets that each sent and that came to each, `from` first."""

    plan: FlowPlan
    sent: tuple[npt.NDArray[np.void], ...]
    came: tuple[npt.NDArray[np.void], ...]

    @property
    def caller(self) -> int:
        """The place of the end whose program calls the other one's."""
        sender = _sender(self.plan)
        return 1 - sender if self.plan.scheme.first == "sender" else sender

    def is_known(self, place: int) -> bool:
        """Return True if what an end's program does without answers is known: over TCP, and with the schemes that are shipped."""
        return self.plan.scheme.source.parent == SHIPPED or bool((self.sent[place]["protocol"] == TCP).all())


def unanswered(
    plans: Sequence[FlowPlan],
    seen: tuple[Sightings, Sightings],
    records: tuple[EndRecord, EndRecord],
    names: tuple[str, str],
    port: int,
) -> tuple[str, str] | None:
    """Return which flow a program never heard the other end of, and what to try; None if all programs heard something.

    Parameters
    ----------
    plans
        The flows.
    seen
        What both ends saw.
    records
        Of both ends, with what senders report.
    names
        Of the ends.
    port
        Of the probes; those of flows come after it.
    """
    for plan in plans:
        flow = _flow(plan, seen)
        told = f"flow {plan.number} ({plan.scheme.name})"
        for quiet, other in ((1, 0), (0, 1)):
            if _never_answered(flow, quiet):
                here, there = names[other], names[quiet]
                return (
                    f"{told}: {counted(len(flow.came[quiet]), 'packet')} from {here} came to {there}, which answered none",
                    f"let port {port + plan.number} pass the firewall of {there}",
                )
    return unheard(plans, seen, records, names, port)


def unheard(
    plans: Sequence[FlowPlan],
    seen: tuple[Sightings, Sightings],
    records: tuple[EndRecord, EndRecord],
    names: tuple[str, str],
    port: int,
) -> tuple[str, str] | None:
    """Return which flow's answers came to the end that calls and not to its program, and what to try; None if there is none.

    Takes what `unanswered` does.
    """
    for plan in plans:
        flow = _flow(plan, seen)
        if _never_heard(flow, records):
            here, there = names[1 - flow.caller], names[flow.caller]
            came = counted(len(flow.came[flow.caller]), "answer")
            return (
                f"flow {plan.number} ({plan.scheme.name}): {came} from {here} came to {there}, and the program there got none",
                f"let answers from port {port + plan.number} pass the firewall of {there}",
            )
    return None


def _flow(plan: FlowPlan, seen: tuple[Sightings, Sightings]) -> _Flow:
    return _Flow(plan, *(tuple(_packets(end, plan.number, way) for end in seen) for way in (SENT, CAME)))


def _sender(plan: FlowPlan) -> int:
    """Return the place of the end that sends."""
    return 0 if plan.flow.direction == "uplink" else 1


def _packets(end: Sightings, flow: int, way: int) -> npt.NDArray[np.void]:
    records = end.records
    return records[(records["flow"] == flow) & (records["direction"] == way)]


def _never_answered(flow: _Flow, quiet: int) -> bool:
    """Return True if packets came to an end, and it sent none; programs of others may speak UDP without answers."""
    other = 1 - quiet
    is_one_way = len(flow.sent[other]) and len(flow.came[quiet]) and not len(flow.sent[quiet])
    return bool(is_one_way) and flow.is_known(other)


def _never_heard(flow: _Flow, records: tuple[EndRecord, EndRecord]) -> bool:
    """Return True if answers came to the end that calls while its program ran, and the program heard none.

    A sender of ours over UDP has no round trip to report then. Over TCP and QUIC, what calls has one size, be it sent once or again:
    SYN carries options that no other segment does (RFC 9293, section 3.1), the first datagrams of a client are padded (RFC 9000,
    section 14.1). What follows an answer has other sizes, the acknowledgement of the connection to begin with.
    """
    sent, came = flow.sent[flow.caller], flow.came[flow.caller]
    over = int(records[flow.caller].head["began"]) + round(flow.plan.stop * 1e9)
    if not len(sent) or not np.any(came["time"] < over):
        return False
    if flow.plan.scheme.notes_packets:
        reports = _reports(flow.plan, records)
        return any("rtt_ms" in report for report in reports) and not any(map(_tells_of_an_answer, reports))
    return flow.is_known(flow.caller) and len(np.unique(sent["size"])) == 1


def _reports(plan: FlowPlan, records: tuple[EndRecord, EndRecord]) -> list[dict[str, Any]]:
    """Return what a sender of ours reports: how its flows are doing, which of them have ended, and a summary."""
    return objects_of(records[_sender(plan)].files.get(f"flow-{plan.number}/report.jsonl", b""))


def _tells_of_an_answer(report: dict[str, Any]) -> bool:
    """Return True for a report with a round trip, and where something was acknowledged: short flows end before a second report."""
    summary: Any = report.get("summary")
    acknowledged: Any = (
        cast("dict[str, Any]", summary).get("bytes_acknowledged") if isinstance(summary, dict) else 0
    )
    return report.get("rtt_ms") is not None or report.get("end_ns") is not None or bool(acknowledged)
