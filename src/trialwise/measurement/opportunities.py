"""When a link may send: the delivery opportunities of a trace or a constant rate, and the resulting rates.

A trace is a sorted array of milliseconds; each entry stands for the departure of one full packet (1500 bytes of IP). After its
last opportunity it starts again, as in mahimahi's mm-link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise import _core

Trace = npt.NDArray[np.uint64]
Times = npt.NDArray[np.float64]
OPPORTUNITY = 1500
"""Bytes of IP that one opportunity carries."""
PERCENTILES = (0, 5, 25, 50, 75, 95, 100)
_LONG_GAP = 1000


def of_trace(
    trace: Trace, start: float, stop: float, *, base: float = 0.0, repeat: bool = True
) -> npt.NDArray[np.int64]:
    """Return the opportunities in (start, stop] of a trace whose millisecond 0 is at `base`; all in milliseconds."""
    period = int(trace[-1])
    first = max(0, int(np.floor((start - base) / period)) - 1)
    last = int(np.floor((stop - base) / period)) + 1 if repeat else 1
    rounds = np.arange(first, max(first, last), dtype=np.int64)
    times = (rounds[:, None] * period + trace.astype(np.int64)[None, :]).ravel() + base
    return times[(times > start) & (times <= stop)].astype(np.int64)


def of_rate(bits_per_second: float, start: float, stop: float) -> npt.NDArray[np.int64]:
    """Return the opportunities in (start, stop] of a constant rate, each rounded up to the millisecond; in milliseconds."""
    each = 8 * OPPORTUNITY * 1000 / bits_per_second
    ranks = np.arange(int(round(start / each, 6)) + 1, int(round(stop / each, 6)) + 1, dtype=np.float64)
    return np.ceil(np.round(ranks * each, 6)).astype(np.int64)


def capacity(trace: Trace, start: float, stop: float) -> float:
    """Return the rate that a repeated trace can carry between two instants.

    Opportunities in (start, stop] times 1500 bytes times 8, divided by the time.

    Parameters
    ----------
    trace
        Milliseconds.
    start, stop
        Seconds since the trace began.

    Returns
    -------
    float
        Mbit/s of IP bytes.
    """
    count = of_trace(trace, start * 1000, stop * 1000).size
    return count * OPPORTUNITY * 8 / (stop - start) / 1e6


def fitting_bin(trace: Trace, bin_width: int) -> int:
    """Return the width of bins, in milliseconds, in which a trace's rates can be compared: whole periods if these are shorter."""
    period = int(trace[-1])
    return bin_width if bin_width <= period else -(-bin_width // period) * period


def rates(trace: Trace, bin_width: int) -> tuple[Times, Times]:
    """Return the rate of the repeated trace in bins over one period, or over as many periods as a wider bin covers.

    Parameters
    ----------
    trace
        Milliseconds.
    bin_width
        Milliseconds, from `fitting_bin`; the rest of the period after the last whole bin is left out.

    Returns
    -------
    tuple
        The end of each bin in seconds, and its rate in Mbit/s of IP bytes.
    """
    bins = max(1, int(trace[-1]) // bin_width)
    times = of_trace(trace, 0, bins * bin_width)
    counts = np.bincount((times - 1) // bin_width, minlength=bins)
    ends = np.arange(1, bins + 1) * bin_width / 1000
    return ends, counts * OPPORTUNITY * 8 / bin_width / 1000


@dataclass(frozen=True)
class TraceSummary:
    """A summary of a trace.

    Attributes
    ----------
    opportunities
        Number of opportunities in a period.
    period_ms
        Time after which it starts again, in milliseconds.
    mean_rate
        Mbit/s with opportunities of 1500 bytes, as mahimahi documents it: IP bytes of full packets.
    mean_rate_mahimahi
        Mbit/s with the 1504 bytes that mm-link counts.
    bin_ms
        Width of the bins of `percentiles`, in milliseconds.
    percentiles
        Percentiles of the rate in bins, and their values in Mbit/s; 0 is the minimum, 100 the maximum.
    longest_gap_ms, longest_gap_at_ms
        The longest time without an opportunity, and the opportunity after which it begins, in milliseconds.
    most_in_a_millisecond
        The largest number of opportunities in one millisecond.
    warnings
        What users of the trace should know.
    """

    opportunities: int
    period_ms: int
    mean_rate: float
    mean_rate_mahimahi: float
    bin_ms: int
    percentiles: dict[str, float]
    longest_gap_ms: int
    longest_gap_at_ms: int
    most_in_a_millisecond: int
    warnings: tuple[str, ...]


def summary(trace: Trace, bin_width: int = 500) -> TraceSummary:
    """Summarise a trace, with its rates in bins of `bin_width` milliseconds, or of whole periods if these are shorter."""
    bin_width = fitting_bin(trace, bin_width)
    gaps = np.diff(trace, prepend=np.uint64(0))  # the first gap follows the period before
    longest = int(np.argmax(gaps))
    _, values = rates(trace, bin_width)
    most = int(np.unique(trace, return_counts=True)[1].max())
    return TraceSummary(
        opportunities=trace.size,
        period_ms=int(trace[-1]),
        mean_rate=_core.trace_mean_rate(trace, mahimahi=False) / 1e6,
        mean_rate_mahimahi=_core.trace_mean_rate(trace, mahimahi=True) / 1e6,
        bin_ms=bin_width,
        percentiles={str(rank): float(np.percentile(values, rank)) for rank in PERCENTILES},
        longest_gap_ms=int(gaps[longest]),
        longest_gap_at_ms=int(trace[longest] - gaps[longest]),
        most_in_a_millisecond=most,
        warnings=tuple(_warnings(trace, int(gaps[longest]), most)),
    )


def _warnings(trace: Trace, longest_gap: int, most: int) -> list[str]:
    found: list[str] = []
    first, period = int(trace[0]), int(trace[-1])
    if first == 0:
        found.append("its first opportunity, at 0, coincides with the last one of the round before")
    if period // 2 < first < period:
        found.append(
            f"nothing leaves in the first {first} ms; `trialwise trace cut --from {first - 1}ms` drops them"
        )
    elif longest_gap > _LONG_GAP:
        found.append(
            f"nothing leaves for {longest_gap} ms: senders may take that for loss (timeouts from 200 ms on)"
        )
    if most > max(20, 20 * trace.size // period):
        found.append(f"{most} packets leave in one millisecond: bursts that a real link would spread")
    if period < 1000 and trace.size > 1:
        found.append(f"it repeats every {period} ms")
    return found
