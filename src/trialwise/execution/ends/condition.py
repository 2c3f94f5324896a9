"""The condition of a real path during a trial, from the probes of its ends."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trialwise.execution.workers.agent.meeting import RUNNING
from trialwise.execution.workers.agent.path_programs import LINGER
from trialwise.measurement.packets import Packets
from trialwise.measurement.path_condition import PathCondition, is_another_round_trip

Heard = npt.NDArray[np.void]
"""Probes that came to an end, as `records.PROBE`."""


def condition_of(
    path: str,
    ends: tuple[str, str],
    probes: Packets,
    stop: float,
    heard: tuple[Heard, Heard],
    *,
    is_expected: bool = False,
) -> PathCondition:
    """Return the condition of the path before the flows, and what is another after them.

    Parameters
    ----------
    path, ends
        Name of the path, and of its ends.
    probes
        Packets of both directions, with times in seconds since the flows began. Those between the flows' begin and end do not count:
        queues of the flows are no property of the route.
    stop
        When the last flow was stopped, seconds.
    heard
        The probes that came to each end.
    is_expected
        Whether the route changes by design.
    """
    found = [ttls(each) for each in heard]
    within = [
        f"TTL at {end} changed ({' → '.join(map(str, every))})"
        for end, (_, every) in zip(ends, found, strict=True)
        if len(every) > 1
    ]
    before = lowest_round_trip(probes.of(stop=0.0))
    after = lowest_round_trip(probes.of(start=stop + LINGER))
    if before is not None and after is not None and is_another_round_trip(before, after):
        within.append(f"the lowest round trip changed ({before:.3g} ms → {after:.3g} ms)")
    return PathCondition(
        path,
        ends,
        (found[0][0], found[1][0]),
        before,
        changed_within="; ".join(within),
        is_expected=is_expected,
    )


def lowest_round_trip(probes: Packets) -> float | None:
    """Return the lowest delays of both directions together, ms, free of the clocks' offset; None if one has no packets."""
    delivered = probes.where(probes.delivered)
    ways = [delivered.delay[delivered.direction == way] for way in (0, 1)]
    return float(sum(each.min() for each in ways)) * 1e3 if all(each.size for each in ways) else None


def ttls(probes: Heard) -> tuple[int | None, list[int]]:
    """Return the usual TTL of probes before the flows, and all that there were, in order of time; None if it is unknown."""
    known = probes[probes["ttl"] > 0]
    before = known[known["phase"] < RUNNING]
    if not known.size:
        return None, []
    values, counts = np.unique((before if before.size else known)["ttl"], return_counts=True)
    every, firsts = np.unique(known["ttl"], return_index=True)
    return int(values[np.argmax(counts)]), [int(ttl) for ttl in every[np.argsort(firsts)]]
