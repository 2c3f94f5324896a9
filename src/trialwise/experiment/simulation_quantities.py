"""Quantities of simulated trials, with their units."""

from __future__ import annotations

from collections.abc import Mapping

from trialwise._core import parse_size
from trialwise.experiment.quantities import Quantity
from trialwise.experiment.simulation import SizeClass

SIMULATION_QUANTITIES: Mapping[str, Quantity] = {
    "fct": Quantity(
        "s",
        "lower",
        "flow completion time of every flow: from its start to the last acknowledgement",
        samples="many",
    ),
    "slowdown": Quantity(
        "",
        "lower",
        "completion time of every flow over that of the flow alone, by the usual approximation",
        samples="many",
    ),
    "throughput": Quantity(
        "bit/s",
        "higher",
        "payload over completion time of every flow; of one that has not ended at the network's stop, what was delivered by then",
        samples="many",
    ),
    "jct": Quantity(
        "s",
        "lower",
        "job completion time of every job: from its begin until its last flow is received and its last computation over",
        per_flow=False,
        samples="many",
    ),
    "flows": Quantity("", None, "how many flows there are"),
    "bytes": Quantity("B", None, "payload of all flows"),
    "largest_flow": Quantity("B", None, "payload of the largest flow"),
    "queue": Quantity(
        "B",
        "lower",
        "bytes that wait before the fullest port of a switch; a series of looks",
        per_flow=False,
        samples="many",
    ),
    "peak_queue": Quantity(
        "B", "lower", "the most bytes that ever waited before a port of a switch", per_flow=False
    ),
    "peak_buffer": Quantity("B", "lower", "the most bytes that any switch held", per_flow=False),
    "pauses": Quantity("", "lower", "pause frames of priority flow control", per_flow=False),
    "drops": Quantity(
        "", "lower", "packets dropped, for want of buffer, at random or by a fault", per_flow=False
    ),
    "marks": Quantity("", None, "packets marked by switches", per_flow=False),
    "resent": Quantity("", "lower", "data packets sent again", per_flow=False),
}
"""Quantities as people name them; `per_flow`: of flows, so that a class of sizes and a phase may be chosen."""


def size_class(text: str) -> SizeClass:
    """Parse a size class such as ``0B..100kB``, ``1MB..`` or ``..10kB``; the upper bound is exclusive.

    Raises
    ------
    ValueError
        What is wrong, and what to write.
    """
    low, dots, high = (part.strip() for part in text.partition(".."))
    if not dots or not (low or high):
        raise ValueError(
            f'{text!r} is not a size class: write two ends, as in "0B..100kB", or one, as in "1MB.."'
        )
    found = SizeClass(parse_size(low) if low else 0, parse_size(high) if high else None)
    if found.high is not None and found.low >= found.high:
        raise ValueError(f"{text!r} holds no size: the first end must be less than the second")
    return found
