"""Slowdown by flow size, as usual in the field: p50 and p99 of the flows in each tenth of all sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.analysis.estimation.flow_records import FlowRecords
from trialwise.analysis.estimation.results import SizeBin
from trialwise.numbers import as_given

PERCENTILES = (50.0, 99.0)
_BINS = 10
_FEWEST = 100
"""Minimum number of flows of a bin; with fewer its p99 would be its largest."""


def size_edges(flows: FlowRecords, bins: int = _BINS) -> tuple[float, ...]:
    """Return the edges of bins with equal numbers of flows, in bytes; fewer if many flows have one size."""
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
    """Yield the bins of one treatment with enough flows; flows of the warm-up and the cool-down are excluded."""
    counted = np.isfinite(flows.fct) & stable(set_apart, flows)
    slowdowns = flows.samples("slowdown")
    # Bins are (low, high], the first one includes its lower edge; a single size is one bin.
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
                    f"p{as_given(percentile)}": st.pooled_quantile(trials, percentile, confidence=confidence)
                    for percentile in PERCENTILES
                },
            )


def stable(set_apart: tuple[float, float], flows: FlowRecords) -> npt.NDArray[np.bool_]:
    """Return which flows begin neither in the warm-up nor in the cool-down.

    The span in which flows begin ends with the last flow of all trials; with many trials this is the workload's duration.
    """
    warmup, cooldown = set_apart
    chosen = flows.start >= warmup
    if cooldown:
        chosen &= flows.start < flows.start.max(initial=0.0) - cooldown
    return chosen
