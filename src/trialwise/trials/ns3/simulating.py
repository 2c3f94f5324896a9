"""Simulate one trial with ns-3: settings and flows in, arrays out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trialwise import _core
from trialwise.experiment.simulation import SimulationTrial
from trialwise.trials.flow_results import FlowResult, Integers
from trialwise.trials.ns3.process import ns3_process
from trialwise.trials.ns3.request import ns3_request, ns3_settings


def simulate_ns3(
    trial: SimulationTrial,
    fabric: _core.Fabric,
    flows: Mapping[str, Integers],
    seed: int,
    cancel: int | None = None,
) -> FlowResult:
    """Simulate a flow list with ns-3.

    Parameters
    ----------
    trial
        The trial, with its placeholders filled in.
    fabric, flows
        Its topology and its flow list.
    seed
        Seed of ns-3's random numbers.
    cancel
        A file descriptor that becomes readable to abandon the trial.

    Raises
    ------
    InterruptedError
        It was abandoned.
    PlanError
        It cannot be the same in ns-3, or ns-3 is missing.
    TrialError
        ns-3 did not survive it, or took too long.
    """
    request = ns3_request(ns3_settings(trial, fabric), fabric, flows, seed)
    if len(flows["start_ps"]):
        answer = ns3_process().simulate(request, timeout=trial.timeout, cancel=cancel)
    else:
        answer = _nothing(fabric)
    return FlowResult(
        flows=flows,
        fct_ps=np.array(answer["completion"], dtype=np.int64),
        ideal_ps=fabric.ideal_times(dict(flows)),
        totals=_totals(fabric, answer),
        end_ps=answer["end"],
        seconds=answer["seconds"],
    )


def _nothing(fabric: _core.Fabric) -> Mapping[str, Any]:
    """Return what ns-3 would answer for no flows; it is not asked then."""
    ports = [0] * (2 * len(fabric.links))
    counts = {"events": 0, "resent": 0, "end": 0, "seconds": 0.0}
    return {"completion": [], "sent": ports, "drops": ports, "marks": ports} | counts


def _totals(fabric: _core.Fabric, answer: Mapping[str, Any]) -> dict[str, int]:
    ends = [end for first, second, *_ in fabric.links for end in (first, second)]
    hosts = set(fabric.hosts.tolist())
    return {
        "hops": sum(answer["sent"]),
        "events": answer["events"],
        "data_resent": answer["resent"],
        "dropped_buffer": sum(answer["drops"]),
        "dropped_link": 0,
        "dropped_fault": 0,
        "marks": sum(marks for end, marks in zip(ends, answer["marks"], strict=True) if end not in hosts),
    }
