"""Results of engines other than our packet simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise import _core

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FlowResult:
    """Results of an engine, under the names of `_core.SimulationResult` where they mean the same.

    `fct_ps` (−1 for a flow that did not finish) and `ideal_ps` have shape (flows,). `totals` holds what the engine counts, nothing
    where it has no packets; of ns-3, `dropped_buffer` covers all ports, `marks` those of switches. `seconds` is how long it took, of
    ns-3 the processor time of Simulator::Run.
    """

    flows: Mapping[str, Integers]
    fct_ps: Integers
    ideal_ps: Integers
    totals: dict[str, int]
    end_ps: int
    seconds: float
    series: None = None

    def csv(self) -> str:
        """Return the flows as comma-separated values: flow_id, src, dst, size_bytes, start_ns, fct_ns (empty if it did not finish)."""
        first, *lines = _core.format_flows(dict(self.flows)).splitlines()
        times = ("" if time < 0 else str(time // 1000) for time in self.fct_ps.tolist())
        return "\n".join([f"{first},fct_ns", *map(",".join, zip(lines, times, strict=True))]) + "\n"
