"""Recordings of a path over time, in memory: rate or opportunities, base delay, loss and state, each way.

The file is that of docs/reference/path-recording.md (`exchange.recording_files`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trialwise.measurement.opportunities import OPPORTUNITY, Times

STATES = ("on", "off", "hold")
"""What a link does with packets that arrive: carries, loses or holds them; the number of a state is its index here."""
RATE, DELAY, LOSS, STATE = "rate_bps", "base_delay_us", "loss", "state"
COMPARED_BIN = 100.0
"""Milliseconds over which rates are averaged where they are compared."""
_MAX_BINS = 1_000_000


@dataclass(frozen=True, slots=True)
class Steps:
    """Values from instants (ms) on; the first also holds before its instant, the last to the end."""

    times: Times
    values: Times

    def at(self, times: Times) -> Times:
        """Return the value at each time."""
        places = np.maximum(np.searchsorted(self.times, times, side="right") - 1, 0)
        return self.values[places]

    def within(self, start: float, end: float) -> Steps:
        """Return the part from `start` to `end`, counted from `start`."""
        inside = (self.times > start) & (self.times < end)
        times = np.concatenate([[0.0], self.times[inside] - start])
        return Steps(times, np.concatenate([self.at(np.array([start])), self.values[inside]]))

    def means(self, edges: Times) -> Times:
        """Return the mean between each two edges."""
        starts = np.concatenate([[min(edges[0], 0.0)], self.times[1:]])
        ends = np.concatenate([starts[1:], [max(edges[-1], starts[-1])]])
        whole = np.concatenate([[0.0], np.cumsum(self.values * (ends - starts))])
        return np.diff(np.interp(edges, np.concatenate([starts, ends[-1:]]), whole)) / np.diff(edges)


@dataclass(frozen=True, slots=True)
class Way:
    """One direction: steps by column (rate in bit/s, delay in µs, loss as a share, state as its number), or opportunities in ms."""

    steps: Mapping[str, Steps] = field(default_factory=dict[str, Steps])
    opportunities: npt.NDArray[np.int64] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it has."""
        found = tuple(self.steps)
        return found if self.opportunities is None else ("opportunities", *found)

    def rates(self, edges: Times) -> Times | None:
        """Return the mean rate in Mbit/s between each two edges (ms); None if it has no rate."""
        if self.opportunities is not None:
            counts = np.diff(np.searchsorted(self.opportunities, edges, side="right"))
            return counts * (OPPORTUNITY * 8 / 1000) / np.diff(edges)
        return self.steps[RATE].means(edges) / 1e6 if RATE in self.steps else None


@dataclass(frozen=True, slots=True)
class Recording:
    """A path over `length` milliseconds, each way, and what its header says of it."""

    uplink: Way
    downlink: Way
    length: float
    header: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def ways(self) -> dict[str, Way]:
        """The directions that say something, by name."""
        both = {"uplink": self.uplink, "downlink": self.downlink}
        return {name: way for name, way in both.items() if way.columns}

    def bins(self, width: float) -> Times:
        """Return the edges of bins of `width` ms, without the rest at the end; wider ones where there would be too many."""
        width = max(min(width, self.length), self.length / _MAX_BINS)
        return (np.arange(int(self.length / width + 1e-9) + 1) * width).astype(np.float64)

    def each(self, change: Callable[[Way], Way], length: float, done: str) -> Recording:
        """Return the recording with each direction changed, and what was done in its header."""
        notes = [*self.header.get("notes", ()), done]
        header = {**self.header, "notes": notes}
        return replace(
            self, uplink=change(self.uplink), downlink=change(self.downlink), length=length, header=header
        )


def cut(recording: Recording, start: float, end: float) -> Recording:
    """Return the part from `start` to `end` (ms), counted from `start`.

    Raises
    ------
    ValueError
        It is not within the recording.
    """
    if not 0 <= start < end <= recording.length:
        raise ValueError(f"it goes from 0 ms to {recording.length:g} ms")

    def part(way: Way) -> Way:
        steps = {name: each.within(start, end) for name, each in way.steps.items()}
        times = way.opportunities
        if times is not None:
            times = times[(times > start) & (times <= end)] - int(start)
        return Way(steps, times)

    return recording.each(part, end - start, f"cut from {start:g} ms to {end:g} ms")


def scaled(recording: Recording, factor: float, more_delay: float) -> Recording:
    """Return the recording with its rates times `factor`, and its base delays longer by `more_delay` (µs).

    Raises
    ------
    ValueError
        A base delay would be below zero.
    """

    def change(way: Way) -> Way:
        steps = dict(way.steps)
        if RATE in steps:
            steps[RATE] = replace(steps[RATE], values=np.rint(steps[RATE].values * factor))
        if more_delay:
            old = steps.get(DELAY, Steps(np.zeros(1), np.zeros(1)))
            if (least := float(old.values.min())) + more_delay < 0:
                raise ValueError(
                    f"a base delay of {least / 1000:g} ms cannot be shorter by {-more_delay / 1000:g} ms"
                )
            steps[DELAY] = replace(old, values=old.values + more_delay)
        times = way.opportunities
        if times is not None and factor != 1:
            count = round(times.size * factor)
            # The k-th of m new ones is where the ⌈k n / m⌉-th of n old ones is, as a trace is scaled.
            times = times[-(-np.arange(1, count + 1) * times.size // max(count, 1)) - 1]
        return Way(steps, times) if way.columns else way

    return recording.each(change, recording.length, f"rate x {factor:g}, delay {more_delay / 1000:+g} ms")


def joined(recordings: Sequence[Recording]) -> Recording:
    """Return recordings one after the other.

    Raises
    ------
    ValueError
        One has other columns than the first, so that values of the one before would hold in it.
    """
    first = recordings[0]
    for number, other in enumerate(recordings[1:], start=2):
        for way, mine in (("uplink", first.uplink), ("downlink", first.downlink)):
            theirs = getattr(other, way).columns
            if set(theirs) != set(mine.columns):
                words = [", ".join(columns) or "nothing" for columns in (theirs, mine.columns)]
                raise ValueError(f"number {number} has {words[0]} of the {way}, the first has {words[1]}")
    starts = np.concatenate([[0.0], np.cumsum([each.length for each in recordings])])
    uplink, downlink = (
        _chained([getattr(each, way) for each in recordings], starts) for way in ("uplink", "downlink")
    )
    header = {**first.header, "notes": [f"{len(recordings)} recordings joined"]}
    return Recording(uplink, downlink, float(starts[-1]), header)


def _chained(ways: Sequence[Way], starts: Times) -> Way:
    steps: dict[str, Steps] = {}
    for name in ways[0].steps:
        parts = [(way.steps[name], start) for way, start in zip(ways, starts, strict=False)]
        # The first value also holds before its instant: from the start of its recording on.
        times = [np.concatenate([[start], part.times[1:] + start]) for part, start in parts]
        steps[name] = Steps(np.concatenate(times), np.concatenate([part.values for part, _ in parts]))
    if ways[0].opportunities is None:
        return Way(steps)
    chances = [
        way.opportunities + int(start)
        for way, start in zip(ways, starts, strict=False)
        if way.opportunities is not None
    ]
    return Way(steps, np.concatenate(chances))


@dataclass(frozen=True, slots=True)
class WaySummary:
    """A summary of one direction; None where it says nothing of it.

    Attributes
    ----------
    mean_rate, least_rate, largest_rate
        Mbit/s of IP packets; the extremes in bins of the summary.
    least_delay, largest_delay
        Base delay in ms.
    mean_loss
        Share of packets, whatever the load.
    interruptions
        Times at which it loses or holds everything.
    longest_interruption
        In ms; 0 where there is none.
    """

    mean_rate: float | None
    least_rate: float | None
    largest_rate: float | None
    least_delay: float | None
    largest_delay: float | None
    mean_loss: float | None
    interruptions: int
    longest_interruption: float


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """A summary of a recording: its length and the width of bins (ms), each way, its origin, and what to know before using it."""

    length_ms: float
    bin_ms: float
    uplink: WaySummary | None
    downlink: WaySummary | None
    origin: str
    warnings: tuple[str, ...]


def summary(recording: Recording, bin_width: float) -> RecordingSummary:
    """Summarise a recording, with its rates in bins of `bin_width` ms."""
    edges = recording.bins(bin_width)
    ways = {name: _way_summary(way, edges, recording.length) for name, way in recording.ways.items()}
    warnings = [str(note) for note in recording.header.get("notes", ())]
    for name, way in recording.ways.items():
        warnings += [f"{name}: {text}" for text in silences(way, recording.length)]
    return RecordingSummary(
        recording.length,
        float(edges[1] - edges[0]) if edges.size > 1 else 0.0,
        ways.get("uplink"),
        ways.get("downlink"),
        str(recording.header.get("origin", "")),
        tuple(dict.fromkeys(warnings)),
    )


def _way_summary(way: Way, edges: Times, length: float) -> WaySummary:
    rates = way.rates(edges) if edges.size > 1 else None
    whole = way.rates(np.array([0.0, length])) if length > 0 else None
    delay, loss = way.steps.get(DELAY), way.steps.get(LOSS)
    breaks = list(interruptions(way, length))
    return WaySummary(
        mean_rate=None if whole is None else float(whole[0]),
        least_rate=None if rates is None else float(rates.min()),
        largest_rate=None if rates is None else float(rates.max()),
        least_delay=None if delay is None else float(delay.values.min()) / 1000,
        largest_delay=None if delay is None else float(delay.values.max()) / 1000,
        mean_loss=None if loss is None or length <= 0 else float(loss.means(np.array([0.0, length]))[0]),
        interruptions=len(breaks),
        longest_interruption=max((end - start for start, end in breaks), default=0.0),
    )


def interruptions(way: Way, length: float) -> Iterator[tuple[float, float]]:
    """Yield the beginning and end (ms) of each time at which everything is lost or held."""
    state = way.steps.get(STATE)
    yield from _runs(state.times, state.values > 0, length) if state is not None else ()


def _runs(times: Times, wanted: npt.NDArray[np.bool_], length: float) -> Iterator[tuple[float, float]]:
    edges = np.flatnonzero(np.diff(wanted.astype(np.int8), prepend=0, append=0))
    ends = np.append(times, length)
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        yield float(ends[first]), float(ends[last])


def silences(way: Way, length: float, longest: float = 1000.0) -> Iterator[str]:
    """Say at which times nothing can leave for more than `longest` ms, where senders time out."""
    if way.opportunities is not None:
        times = np.concatenate([[0.0], way.opportunities.astype(np.float64), [length]])
        gaps = np.diff(times)
        found = [(times[place], gaps[place]) for place in np.flatnonzero(gaps > longest)]
    elif RATE in way.steps:
        rate = way.steps[RATE]
        found = [(start, end - start) for start, end in _runs(rate.times, rate.values == 0, length)]
        found = [(start, span) for start, span in found if span > longest]
    else:
        return
    if found:
        start, span = max(found, key=lambda each: each[1])
        often = (
            f"more than {longest / 1000:g} s at {len(found)} times, the longest " if len(found) > 1 else ""
        )
        yield f"nothing leaves for {often}{span / 1000:.4g} s from {start / 1000:.4g} s on: senders time out there"


@dataclass(frozen=True, slots=True)
class WayComparison:
    """One direction of two recordings; None where one says nothing of it.

    Attributes
    ----------
    rate_distance
        The largest distance of the distribution functions of rates in bins of 100 ms (Kolmogorov-Smirnov), from 0 to 1.
    mean_rates
        Mbit/s.
    least_delays
        The minimum base delays in ms.
    loss_runs
        Times in which packets are lost or all are (loss above 0, or off).
    longest_loss_runs
        In ms.
    """

    rate_distance: float | None
    mean_rates: tuple[float | None, float | None]
    least_delays: tuple[float | None, float | None]
    loss_runs: tuple[int, int]
    longest_loss_runs: tuple[float, float]


def compared(one: Recording, other: Recording) -> dict[str, WayComparison]:
    """Compare the directions that both recordings describe: rates in bins of 100 ms, minimum delays, and runs of loss."""
    found: dict[str, WayComparison] = {}
    for name in [name for name in one.ways if name in other.ways]:
        pair = (one, one.ways[name]), (other, other.ways[name])
        rates = [way.rates(recording.bins(COMPARED_BIN)) for recording, way in pair]
        summaries = [
            _way_summary(way, recording.bins(COMPARED_BIN), recording.length) for recording, way in pair
        ]
        runs = [list(_loss_runs(way, recording.length)) for recording, way in pair]
        first, second = rates
        found[name] = WayComparison(
            None if first is None or second is None else distance(first, second),
            (summaries[0].mean_rate, summaries[1].mean_rate),
            (summaries[0].least_delay, summaries[1].least_delay),
            (len(runs[0]), len(runs[1])),
            (_longest(runs[0]), _longest(runs[1])),
        )
    return found


def _longest(runs: Sequence[tuple[float, float]]) -> float:
    return max((end - start for start, end in runs), default=0.0)


def _loss_runs(way: Way, length: float) -> Iterator[tuple[float, float]]:
    none = Steps(np.zeros(1), np.zeros(1))
    loss, state = way.steps.get(LOSS, none), way.steps.get(STATE, none)
    times = np.union1d(loss.times, state.times)
    yield from _runs(times, (loss.at(times) > 0) | (state.at(times) == STATES.index("off")), length)


def distance(one: Times, other: Times) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples, from 0 to 1."""
    places = np.concatenate([one, other])
    share = [np.searchsorted(np.sort(each), places, side="right") / each.size for each in (one, other)]
    return float(np.abs(share[0] - share[1]).max())
