"""The outcome of a trial from the records of its two ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from trialwise.arrays import Mask
from trialwise.errors import AnalysisError, TrialError
from trialwise.execution.ends.beginning import Beginning, beginning_of
from trialwise.execution.ends.condition import condition_of, ttls
from trialwise.execution.ends.records import OF_A_TUNNEL, EndRecord
from trialwise.execution.ends.reports import report_of
from trialwise.execution.ends.tasks import PROBES
from trialwise.execution.ends.unanswered import unanswered, unheard
from trialwise.execution.workers.agent.meeting import (
    CANCELLED,
    HELLOS,
    NO_ANSWER,
    NOBODY,
    STOPPED_THERE,
)
from trialwise.experiment.model import Experiment
from trialwise.experiment.sources import PathSource
from trialwise.experiment.traits import sources_of
from trialwise.experiment.trials import PathSettings, RealEnds
from trialwise.measurement.joining import Joined, join_sightings
from trialwise.measurement.packets import Packets
from trialwise.measurement.samples import Samples
from trialwise.measurement.sightings import Sightings, read_sightings
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.ecn_needs import unfit_crossing
from trialwise.trials.path_plan import FlowPlan
from trialwise.trials.path_samples import PathRecord, kept_packets, metric_samples

CONSEQUENCES = (CANCELLED, STOPPED_THERE, NO_ANSWER, NOBODY)
"""Problems of an end that follow from those of the other, or of the path."""
DELAYS = ("delay", "queueing_delay", "pantheon_delay")
"""Quantities that take the delay of single packets."""


def outcome_of(
    request: TrialRequest,
    settings: PathSettings,
    plans: Sequence[FlowPlan],
    ends: RealEnds,
    records: tuple[EndRecord, EndRecord],
    path: str,
) -> TrialOutcome:
    """Return how a trial over the path of this name ended, with the samples of its metrics and the condition of the path.

    Raises
    ------
    TrialError
        An end failed, or the records do not fit together.
    """
    names = ends.sending, ends.receiving
    name = f"{request.number}-{request.attempt}"
    try:
        require_well(ends, records)
    except TrialError as error:
        raise _told_more(error, request.scratch, name, plans, ends, records) from error
    sightings = seen_by_both(request.scratch, name, records)
    if silent := unanswered(plans, sightings, records, names, ends.port):
        raise TrialError(silent[0], hint=silent[1])
    joined = _joined(request, ends, sightings)
    began = beginning_of(records, joined)
    packets = _since(joined, began, joined.packets.flow != PROBES)
    record = PathRecord(
        packets=packets,
        settings=settings,
        plans=plans,
        reports={plan.number: report_of(plan, records, joined) for plan in plans},
        started_ns=began.monotonic,
        stop=max(plan.stop for plan in plans),
        warmup=request.experiment.warmup,
    )
    samples = _facts(joined, records)
    problem = None
    try:
        samples |= metric_samples(request.experiment, record)
    except TrialError as error:
        problem = error.message
    invalid = why_invalid(ends, joined, records, delays=_has_delays(request.experiment)) or unfit_crossing(
        plans, {"uplink": joined.uplink, "downlink": joined.downlink}
    )
    return TrialOutcome(
        "failed" if problem else "invalid" if invalid else "finished",
        began.realtime,
        began.realtime + record.stop,
        reason=problem or invalid,
        samples=samples,
        record=kept_packets(request, packets),
        output=_printed(plans, records, "program.out"),
        errors=_printed(plans, records, "program.err"),
        condition=condition_of(
            path,
            names,
            _since(joined, began, joined.packets.flow == PROBES),
            record.stop,
            (records[0].probes, records[1].probes),
            is_expected=ends.changes == "expected",
        ),
    )


def _told_more(
    error: TrialError,
    scratch: Path,
    name: str,
    plans: Sequence[FlowPlan],
    ends: RealEnds,
    records: tuple[EndRecord, EndRecord],
) -> TrialError:
    """Return an error with what both ends saw of it: a program that gives up for want of answers does not know that they came."""
    if not all(record.sightings for record in records):
        return error
    try:
        seen = seen_by_both(scratch, name, records)
    except TrialError:
        return error
    silent = unheard(plans, seen, records, (ends.sending, ends.receiving), ends.port)
    return TrialError(f"{error.message}; {silent[0]}", hint=silent[1]) if silent else error


def seen_by_both(
    scratch: Path, name: str, records: tuple[EndRecord, EndRecord]
) -> tuple[Sightings, Sightings]:
    """Return what both ends saw; raise TrialError if a file of it is damaged."""
    files = [scratch / f"end-{name}-{place}" for place in range(2)]
    try:
        for file, record in zip(files, records, strict=True):
            file.write_bytes(record.sightings)
        one, other = (read_sightings(file) for file in files)
    except AnalysisError as error:
        raise TrialError(error.message, hint=error.hint) from error
    finally:
        for file in files:
            file.unlink(missing_ok=True)
    return one, other


def _joined(request: TrialRequest, ends: RealEnds, seen: tuple[Sightings, Sightings]) -> Joined:
    """Join what both ends saw; raise TrialError if it does not fit together."""
    try:
        return join_sightings(*seen, seed=request.seed, clock_error=ends.clocks)
    except AnalysisError as error:
        raise TrialError(error.message, hint=error.hint) from error


def _since(joined: Joined, began: Beginning, mask: Mask) -> Packets:
    """Return the packets for which the mask is true, with times since the flows began."""
    packets = joined.packets.where(mask)
    return dataclasses.replace(packets, time=packets.time + (joined.began - began.raw) / 1e9)


def require_well(ends: RealEnds, records: tuple[EndRecord, EndRecord]) -> None:
    """Raise TrialError if an end says that something went wrong; the message tells which, and what to try."""
    names = ends.sending, ends.receiving
    told = [(name, record.problem) for name, record in zip(names, records, strict=True) if record.problem]
    hints = [record.hint for record in records if record.hint is not None]
    if own := [each for each in told if each[1] not in CONSEQUENCES]:
        raise TrialError(
            "; ".join(f"{name}: {problem}" for name, problem in own),
            hint="; ".join(dict.fromkeys(hints)) or None,
        )
    if any(problem == NO_ANSWER for _, problem in told):
        _raise_unheard(ends, records)
    if told:
        raise TrialError("; ".join(f"{name}: {problem}" for name, problem in told))


def _raise_unheard(ends: RealEnds, records: tuple[EndRecord, EndRecord]) -> NoReturn:
    """Say in which direction nothing arrived."""
    listener = 0 if ends.listens == "from" else 1
    listens, calls = ((ends.sending, ends.receiving)[place] for place in (listener, 1 - listener))
    if len(records[listener].probes):
        raise TrialError(
            f"{calls} hears nothing from {listens}, which hears it: something drops UDP on the way from {listens} to {calls}",
            hint="let answers to UDP from that end pass",
        )
    named = (
        f"see whether {ends.address} is its address" if ends.address else 'name its address (address = "…")'
    )
    raise TrialError(
        f"none of {HELLOS} hellos from {calls} reached {listens} at UDP port {ends.port}",
        hint=f"open UDP port {ends.port} and those after it there, {named}, or let the other end listen",
    )


def _has_delays(experiment: Experiment) -> bool:
    """Return True if a metric is a delay of packets."""
    return any(source.quantity in DELAYS for _, source in sources_of(experiment.metrics, PathSource))


def why_invalid(
    ends: RealEnds, joined: Joined, records: tuple[EndRecord, EndRecord], *, delays: bool
) -> str | None:
    """Return why packets of the trial, or their `delays` if any metric is one, are not to be believed; None if they are."""
    names = ends.sending, ends.receiving
    for name, record in zip(names, records, strict=True):
        if problem := record.head["capture"]["problem"]:
            return f"{name}: {problem}"
        if lost := record.head["capture"]["dropped"]:
            return f"the {ends.see} at {name} lost {lost} packets: the rate is too high for it"
    if joined.proxied:
        return "packets of TCP that left one end were not seen at the other, while others were: a proxy ends connections on the path"
    if joined.clocks.steps or any(joined.steps):
        told = " and of ".join(name for name, steps in zip(names, joined.steps, strict=True) if steps)
        return f"the clock of {told or 'an end'} was set during the trial: let NTP slew it, and run the trial again with --again"
    try:
        if delays:
            joined.check_delays()
    except AnalysisError as error:
        return error.message
    return None


def _printed(plans: Sequence[FlowPlan], records: tuple[EndRecord, EndRecord], name: str) -> bytes:
    parts = [
        f"== flow {plan.number} ({plan.scheme.name}), end {place + 1}\n".encode()
        + record.files.get(f"flow-{plan.number}/{name}", b"")
        for plan in plans
        for place, record in enumerate(records)
    ]
    return b"".join(parts)


def _facts(joined: Joined, records: tuple[EndRecord, EndRecord]) -> dict[str, Samples]:
    """Return what the ends report about themselves, besides the metrics."""
    clocks = joined.clocks
    facts: dict[str, float] = {
        "skew_ppm": np.nan if clocks.skew is None else clocks.skew.value * 1e6,
        "offset_bound_ms": clocks.bound * 1e3,
        "round_trip_ms": min(piece.round_trip for piece in clocks.pieces) * 1e3,
        "route_changes": len(clocks.changes) - len(clocks.steps),
        "ttl_first": _or_nan(ttls(records[0].probes)[0]),
        "ttl_second": _or_nan(ttls(records[1].probes)[0]),
        "passes_uplink": _or_nan(float(records[0].head["passes"]) or None),
        "passes_downlink": _or_nan(float(records[1].head["passes"]) or None),
        "peer_changes": sum(max(len(record.head["peers"]) - 1, 0) for record in records),
    }
    for name in OF_A_TUNNEL:
        facts[name] = sum(record.head["capture"].get(name, 0) for record in records)
    for way, crossing in (("uplink", joined.uplink), ("downlink", joined.downlink)):
        for name, value in dataclasses.asdict(crossing).items():
            if name != "held":
                facts[f"{way}_{name}"] = value
    return {
        f"ends:{name}": Samples(np.array([float(value)]))
        for name, value in facts.items()
        if np.isfinite(value)
    }


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value
