"""The phases of simulated trials by their active flows: warm-up, stable, cool-down (CCEval, figure 13b)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.estimation.flow_records import FlowRecords
from trialwise.arrays import Array

_TIMES = 60
_STABLE = 0.9
"""Share of the stable level of active flows at which the warm-up ends."""
_STILL_RISING = 10.0
"""Growth in percent of active flows from the second quarter to the second half above which a trial is not stable."""


@dataclass(frozen=True, slots=True)
class Phases:
    """The phases of the trials of a treatment, in seconds; `active` are mean numbers of active flows at `times`.

    `warmup_end` is None if the number of active flows is still rising when the last flows begin. `growth` compares the second half
    of the span in which flows begin with its second quarter, in percent, by Fieller's set over trials; None if no flow is active
    there. `drain` is the mean time from the end of that span to the end of the last flow.
    """

    duration: float
    warmup_end: float | None
    growth: st.Ratio | None
    drain: float
    times: tuple[float, ...]
    active: tuple[float, ...]


def phases_of(flows: FlowRecords, duration: float, confidence: float = 95.0) -> Phases:
    """Find the phases of all trials together; the stable level is that of the second half of the span in which flows begin.

    Flows are still accumulating if the interval of their growth at `confidence` percent lies above 0 and the growth exceeds 10 %;
    the estimate alone would mistake heavy tails for a rise.
    """
    end = flows.start + np.where(np.isfinite(flows.fct), flows.fct, inf)
    trials = len(flows.rows)
    last = np.zeros(trials)
    finished = np.isfinite(end)
    np.maximum.at(last, flows.trial[finished], end[finished])
    drain = float(np.maximum(last - duration, 0).mean())
    times = np.linspace(0, duration + drain, _TIMES)
    begun = np.searchsorted(np.sort(flows.start), times, side="right")
    ended = np.searchsorted(np.sort(end), times, side="right")
    active = (begun - ended) / trials
    quarter, half = (
        _mean_active(flows, end, start * duration, stop * duration)
        for start, stop in ((0.25, 0.5), (0.5, 1.0))
    )
    growth = (
        st.paired_ratio(quarter, half, confidence=confidence).in_percent()
        if trials > 1 and quarter.any()
        else None
    )
    rising = growth is not None and growth.bounded and growth.low > 0 and growth.estimate > _STILL_RISING
    reached = times[(times <= duration) & (active >= _STABLE * half.mean())]
    return Phases(
        duration=duration,
        warmup_end=None if rising or not len(reached) else float(reached[0]),
        growth=growth,
        drain=drain,
        times=tuple(times.tolist()),
        active=tuple(active.tolist()),
    )


def _mean_active(flows: FlowRecords, end: Array, start: float, stop: float) -> Array:
    """Return the mean number of active flows of each trial between two times."""
    inside = np.clip(np.minimum(end, stop) - np.maximum(flows.start, start), 0, None)
    return np.bincount(flows.trial, inside, len(flows.rows)) / (stop - start)
