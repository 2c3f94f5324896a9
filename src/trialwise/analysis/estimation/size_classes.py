"""Slowdown against flow size, as the field draws it: p50 and p99 of the flows in each tenth of all sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.analysis.estimation.flow_records import FlowRecords
from trialwise.analysis.estimation.results import SizeBin

PERCENTILES = (50.0, 99.0)
_BINS = 10
_FEWEST = 100
"""Flows of a bin, below which its p99 would be its largest."""


def size_edges(flows: FlowRecords, bins: int = _BINS) -> tuple[float, ...]:
    """Ends of bins with as many flows in each, in bytes; fewer where many flows have one size."""
    return tuple(
        np.unique(np.quantile(flows.size, np.linspace(0, 1, bins + 1), method="inverted_cdf")).tolist()
    )


def size_bins(
    set_apart: tuple[float, float],
    treatment: str,
    flows: FlowRecords,
    edges: Sequence[float],
    confidence: float,
) -> Iterator[SizeBin]:
    """The bins of one treatment that have enough flows; flows of the warm-up and the cool-down are left out."""
    counted = np.isfinite(flows.fct) & stable(set_apart, flows)
    slowdowns = flows.samples("slowdown")
    # Bins are (low, high], the first one with its lower end; a single size is one bin.
    places = np.clip(np.searchsorted(edges, flows.size, side="left"), 1, max(len(edges) - 1, 1))
    for place in range(1, max(len(edges), 2)):
        chosen = counted & (places == place)
        if np.count_nonzero(chosen) >= _FEWEST and len(flows.rows) > 1:
            trials = slowdowns.chosen(chosen)
            yield SizeBin(
                treatment=treatment,
                low=int(flows.size[chosen].min()),
                high=int(flows.size[chosen].max()),
                flows=int(np.count_nonzero(chosen)),
                quantiles={
                    f"p{percentile:g}": st.pooled_quantile(trials, percentile, confidence=confidence)
                    for percentile in PERCENTILES
                },
            )


def stable(set_apart: tuple[float, float], flows: FlowRecords) -> npt.NDArray[np.bool_]:
    """Which flows begin neither in the warm-up nor in the cool-down.

    The end of the span in which flows begin is that of the last flow of all trials: of many trials it is the workload's duration.
    """
    warmup, cooldown = set_apart
    chosen = flows.start >= warmup
    if cooldown:
        chosen &= flows.start < flows.start.max(initial=0.0) - cooldown
    return chosen
