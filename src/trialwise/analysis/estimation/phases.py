"""The phases of simulated trials by their active flows: warm-up, stable, cool-down (CCEval, figure 13b)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trialwise.analysis.estimation.flow_records import FlowRecords

_TIMES = 60
_STABLE = 0.9
"""Of the level of active flows, from which on a trial is out of its warm-up."""
_STILL_RISING = 1.1


@dataclass(frozen=True, slots=True)
class Phases:
    """When things happen in the trials of a treatment, in seconds; `active` are mean numbers of active flows at `times`.

    `warmup_end` is None where the number of active flows still rises when the last flows begin. `drain` is the mean time from
    the end of the span in which flows begin to the end of the last flow: the cool-down.
    """

    duration: float
    warmup_end: float | None
    warmup_share: float
    drain: float
    times: tuple[float, ...]
    active: tuple[float, ...]


def phases_of(flows: FlowRecords, duration: float) -> Phases:
    """The phases of all trials together; the stable level is that of the second half of the span in which flows begin."""
    end = flows.start + np.where(np.isfinite(flows.fct), flows.fct, np.inf)
    trials = len(flows.rows)
    last = np.zeros(trials)
    finished = np.isfinite(end)
    np.maximum.at(last, flows.trial[finished], end[finished])
    drain = float(np.maximum(last - duration, 0).mean())
    times = np.linspace(0, duration + drain, _TIMES)
    begun = np.searchsorted(np.sort(flows.start), times, side="right")
    ended = np.searchsorted(np.sort(end), times, side="right")
    active = (begun - ended) / trials
    inside = times <= duration
    half, quarter = inside & (times >= duration / 2), inside & (times >= 0.75 * duration)
    level = float(active[half].mean())
    rising = float(active[quarter].mean()) > _STILL_RISING * float(active[half & ~quarter].mean())
    reached = times[inside & (active >= _STABLE * level)]
    warmup_end = None if rising or not len(reached) else float(reached[0])
    return Phases(
        duration=duration,
        warmup_end=warmup_end,
        warmup_share=float(np.mean(flows.start < (duration if warmup_end is None else warmup_end))),
        drain=drain,
        times=tuple(times.tolist()),
        active=tuple(active.tolist()),
    )
