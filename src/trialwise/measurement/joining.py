"""Join what two ends of a path saw into one packet log: what arrived, what was lost, how long each packet took.

A packet is known at both ends by its identity. One that was seen once at each is matched wherever it is; of equal ones (true
retransmissions, keep-alives) the k-th that was sent is matched to the k-th that came within a window, and both count as
ambiguous. The matched packets are the probes of the clocks' model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise.arrays import Array, Integers, Mask
from trialwise.errors import AnalysisError
from trialwise.measurement.clocks.fitting import Apart, fit_clocks
from trialwise.measurement.clocks.model import ClockModel
from trialwise.measurement.clocks.probes import Probes
from trialwise.measurement.packets import (
    CE,
    DELIVERED,
    DROPPED,
    ECT_0,
    ECT_1,
    HELD,
    NOT_ECT,
    Packets,
    joined,
)
from trialwise.measurement.sightings import CAME, MERGED, SENT, Sightings
from trialwise.numbers import write

WAIT = 2.0
"""Seconds beyond the longest delay for which a packet may still arrive."""
MAX_AMBIGUOUS = 0.001
"""Share of ambiguous packets above which the delay of a packet is not known."""
MOST_PROBES = 20_000
"""Packets of a direction that the clocks are fitted to: the fastest of each stretch of time."""
_AT_ONCE = 1 << 21
TCP = 6
_FEW = 0.01
"""Share of matched packets of TCP below which others ended its connections on the way, if those of other protocols match."""
_SOME = 10
_AROUND, _SOONER = 10, 0.1
"""Packets before and after, and seconds by which none is sooner than all of them."""
_NONE = np.empty(0, np.int64)

Identities = npt.NDArray[np.uint64]
_Clock = Callable[[Integers], Array]


@dataclass(frozen=True, slots=True)
class Crossing:
    """What became of the packets of one direction.

    Attributes
    ----------
    sent
        Packets that the sending end saw leave.
    delivered
        That the other end saw arrive.
    dropped
        That it did not see within the longest delay and two seconds.
    held
        Of which nothing is known, because the capture at the other end stopped before that.
    duplicates
        Arrivals of packets that had arrived before.
    strangers
        Arrivals that the sending end did not see leave.
    ambiguous
        Delivered packets that look like others sent within the window.
    merged
        Delivered packets whose stamp is that of a larger one which an end saw in one piece.
    ect1_sent, ect1_kept, ect1_marked, ect1_as_ect0, ect1_cleared
        Packets that left with ECT(1), and those of them that arrived with ECT(1), CE, ECT(0) and Not-ECT.
    ect0_sent, ect0_kept, ect0_marked, ect0_as_ect1, ect0_cleared
        The same for packets that left with ECT(0).
    """

    sent: int
    delivered: int
    dropped: int
    held: int
    duplicates: int
    strangers: int
    ambiguous: int
    merged: int
    ect1_sent: int = 0
    ect1_kept: int = 0
    ect1_marked: int = 0
    ect1_as_ect0: int = 0
    ect1_cleared: int = 0
    ect0_sent: int = 0
    ect0_kept: int = 0
    ect0_marked: int = 0
    ect0_as_ect1: int = 0
    ect0_cleared: int = 0

    @property
    def ambiguity(self) -> float:
        """Share of delivered packets that are ambiguous; 0 if there are none."""
        return self.ambiguous / self.delivered if self.delivered else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """One packet log of two ends.

    Attributes
    ----------
    packets
        Times since the first packet, by the clock of the first end. The uplink goes from the first end to the second.
        Delays are one-way delays, right within `clocks.bound`; where it is infinite, they are those above the lowest.
    began
        When the first packet was, by the clock of the first end, nanoseconds.
    clocks
        Of the first end (A) and the second (B).
    uplink, downlink
        Counts of both directions.
    proxied
        Packets of TCP do not match while others do: a proxy ends its connections on the way.
    lost
        Packets that the captures at both ends missed; None for one that did not come to its end.
    steps
        How often the clocks of the stamps were set at both ends.
    second
        Seconds of the first end's clock since `clocks.origin`, from times of the second's (nanoseconds).
    """

    packets: Packets
    began: int
    clocks: ClockModel
    uplink: Crossing
    downlink: Crossing
    proxied: bool
    lost: tuple[int | None, int | None]
    steps: tuple[int, int]
    second: _Clock

    @property
    def are_alike(self) -> bool:
        """Whether so many packets of a direction look like others that delays of single ones are not known."""
        return max(self.uplink.ambiguity, self.downlink.ambiguity) > MAX_AMBIGUOUS

    def check_delays(self) -> None:
        """Refuse delays of single packets where too many packets look alike.

        Raises
        ------
        AnalysisError
            More than 0.1 % of the packets of a direction are ambiguous.
        """
        for name, crossing in (("first to the second", self.uplink), ("second to the first", self.downlink)):
            if crossing.ambiguity > MAX_AMBIGUOUS:
                raise AnalysisError(
                    f"{write(100 * crossing.ambiguity)} % of the packets from the {name} end look like others, "
                    "so delays of single packets are not known",
                    hint="let the senders of TCP use time stamps (sysctl net.ipv4.tcp_timestamps), or use throughput and loss",
                )


def join_sightings(
    one: Sightings,
    other: Sightings,
    *,
    seed: int,
    clock_error: float | None = None,
    asymmetry: float | None = None,
) -> Joined:
    """Join what two ends saw in one run.

    Takes about 200 bytes of memory for each packet, and two seconds for a million.

    Parameters
    ----------
    one, other
        The first end, whose clock is that of the result, and the second.
    seed, asymmetry
        Of the clocks' model, as `fit_clocks` takes them.
    clock_error
        Seconds by which the times of day of both machines can differ at most, as chrony or PTP say.

    Raises
    ------
    AnalysisError
        No packet of one end was seen at the other, or a time of day is asked for that one capture does not know.
    """
    apart = None if clock_error is None else _apart(one, other, clock_error)
    up, down = _Way.of(one, other), _Way.of(other, one)
    if not up.pairs[0].size and not down.pairs[0].size:
        raise AnalysisError(
            f"none of {up.sent.size + down.sent.size} packets that left one end was seen at the other",
            hint="are both files of one run, with one key? A proxy on the way, or a tunnel, makes packets of its own",
        )
    probes = up.probes, down.probes
    clocks = fit_clocks(*(_thinned(each) for each in probes), seed=seed, apart=apart, asymmetry=asymmetry)
    common = _Common.of(clocks, probes)
    first, second = common.of_first, common.of_second
    window = WAIT + max(up.longest(first, second), down.longest(second, first))
    matches = up.matches(first, second, window), down.matches(second, first, window)
    start = min(float(each.sent_at.min(initial=np.inf)) for each in matches)
    logs = (
        up.log(matches[0], start, float(second(up.last).max()) - window, 0),
        down.log(matches[1], start, float(first(down.last).max()) - window, 1),
    )
    return Joined(
        packets=joined([log for log, _ in logs]),
        began=clocks.origin + round(start * 1e9),
        clocks=clocks,
        uplink=logs[0][1],
        downlink=logs[1][1],
        proxied=_is_proxied((up, down), matches),
        lost=(one.lost, other.lost),
        steps=(one.steps, other.steps),
        second=second,
    )


def _apart(one: Sightings, other: Sightings, error: float) -> Apart:
    """Return between which values the second end's clock less the first's lies, if their times of day differ by at most `error`."""

    def at(time: int) -> tuple[float, float]:
        time_of_day = time + one.to_realtime(time)
        there = other.clocks[1]
        for _ in range(2):
            there = time_of_day - other.to_realtime(round(there))
        return (there - time) / 1e9 - error, (there - time) / 1e9 + error

    return at


@dataclass(frozen=True, slots=True, eq=False)
class _Common:
    """One clock for both ends: seconds since the first matched packet, by the clock of the first end.

    Where only one direction has packets, the offset is such that its fastest packet takes no time.
    """

    clocks: ClockModel
    unknown: float

    @staticmethod
    def of(clocks: ClockModel, probes: tuple[Probes, Probes]) -> _Common:
        if np.isfinite(clocks.bound):
            return _Common(clocks, 0.0)
        up, down = probes
        if len(up):
            return _Common(clocks, float(((up.received - up.sent) / 1e9 - clocks.lines(up.sent)).min()))
        return _Common(clocks, float(((down.sent - down.received) / 1e9 - clocks.lines(down.received)).max()))

    def of_first(self, times: Integers) -> Array:
        return (times - self.clocks.origin) / 1e9

    def of_second(self, times: Integers) -> Array:
        origin = np.array([self.clocks.origin])
        apart = round((float(self.clocks.lines(origin)[0]) + self.unknown) * 1e9)
        shifted = times - apart
        # The line is flat enough that the time for which it is asked need not be exact.
        rest = self.clocks.lines(shifted) + self.unknown - apart / 1e9
        return (shifted - self.clocks.origin) / 1e9 - rest


@dataclass(frozen=True, slots=True, eq=False)
class _Match:
    """For each packet that was sent: which that came it is (-1: none), when both were, and whether others look like it."""

    came: Integers
    sent_at: Array
    came_at: Array
    ambiguous: Mask
    duplicates: int


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """The packets of one direction: indices of records at both ends, their times, and those whose identity occurs once at each.

    `alike` are the others that occur at both: places among `sent`, among `came`, and the identity's number for each.
    """

    source: Sightings
    target: Sightings
    sent: Integers
    came: Integers
    sent_times: Integers
    came_times: Integers
    pairs: tuple[Integers, Integers]
    alike: tuple[Integers, Integers, Integers, Integers]

    @staticmethod
    def of(source: Sightings, target: Sightings) -> _Way:
        sent = np.flatnonzero(source.records["direction"] == SENT)
        came = np.flatnonzero(target.records["direction"] == CAME)
        times = [_whole(each.column("time")[at]) for each, at in ((source, sent), (target, came))]
        identities = source.column("identity")[sent], target.column("identity")[came]
        pairs, alike = _by_identity(*identities)
        sane = ~_impossible((times[1][pairs[1]] - times[0][pairs[0]]) / 1e9)
        return _Way(source, target, sent, came, times[0], times[1], (pairs[0][sane], pairs[1][sane]), alike)

    @property
    def probes(self) -> Probes:
        """The packets that were seen once at each end."""
        return Probes(self.sent_times[self.pairs[0]], self.came_times[self.pairs[1]])

    @property
    def last(self) -> Integers:
        """When the target saw its last packet, of either direction."""
        return _whole(self.target.records["time"][-1:]) if len(self.target) else self.sent_times[-1:]

    def longest(self, source: _Clock, target: _Clock) -> float:
        """Return the longest delay of packets that were seen once at each end, seconds."""
        probes = self.probes
        return float((target(probes.received) - source(probes.sent)).max(initial=0.0))

    def matches(self, source: _Clock, target: _Clock, window: float) -> _Match:
        """Return what was sent with what came, by identity and, where several are alike, in order within the window (seconds)."""
        found = np.full(self.sent.size, -1)
        found[self.pairs[0]] = self.pairs[1]
        sent_at, came_at = source(self.sent_times), target(self.came_times)
        ambiguous = np.zeros(self.sent.size, np.bool_)
        sent, came, of_sent, of_came = self.alike
        one, other, several, duplicates = _in_order(
            (of_sent, sent_at[sent]), (of_came, came_at[came]), window
        )
        found[sent[one]] = came[other]
        ambiguous[sent[one[several]]] = True
        arrivals = np.where(found >= 0, came_at[found] if came_at.size else np.nan, np.nan)
        return _Match(found, sent_at, arrivals, ambiguous, duplicates)

    def log(
        self, match: _Match, start: float, known_until: float, direction: int
    ) -> tuple[Packets, Crossing]:
        """Return the log of this direction, and its counts; of what was sent after a time, nothing is known unless it came."""
        delivered = match.came >= 0
        held = ~delivered & (match.sent_at > known_until)
        end = max(known_until, float(match.sent_at.max(initial=known_until)))
        times = np.where(delivered, match.came_at, np.where(held, end, match.sent_at))
        delays = np.where(delivered | held, times - match.sent_at, 0.0)
        events = np.where(delivered, DELIVERED, np.where(held, HELD, DROPPED))
        order = np.argsort(times, kind="stable")
        records = self.source.records
        packets = Packets(
            time=times[order] - start,
            delay=np.maximum(delays[order], 0.0),
            direction=np.full(times.size, direction, np.uint8),
            flow=records["flow"][self.sent][order].astype(np.uint16),
            size=records["size"][self.sent][order].astype(np.uint32),
            event=events[order].astype(np.uint8),
            ecn=self._fields(match)[order],
        )
        marks = records["marks"][self.sent][delivered]
        marks = marks | self.target.records["marks"][self.came][match.came[delivered]]
        number = int(delivered.sum())
        crossing = Crossing(
            sent=self.sent.size,
            delivered=number,
            dropped=int((~delivered & ~held).sum()),
            held=int(held.sum()),
            duplicates=match.duplicates,
            strangers=self.came.size - number - match.duplicates,
            ambiguous=int(match.ambiguous.sum()),
            merged=int(np.count_nonzero(marks & MERGED)),
            **self._ecn(match),
        )
        return packets, crossing

    def _fields(self, match: _Match) -> npt.NDArray[np.uint8]:
        """Return the ECN field with which each packet arrived, or left if it did not arrive."""
        fields = self.source.records["ecn"][self.sent].copy()
        delivered = match.came >= 0
        fields[delivered] = self.target.records["ecn"][self.came][match.came[delivered]]
        return fields

    def _ecn(self, match: _Match) -> dict[str, int]:
        """Return what became of the ECN fields of packets that arrived, by the names of `Crossing`."""
        left, came = self.source.records["ecn"][self.sent], self._fields(match)
        delivered = match.came >= 0
        found: dict[str, int] = {}
        for name, own, other in (("ect1", ECT_1, ECT_0), ("ect0", ECT_0, ECT_1)):
            arrived = came[delivered & (left == own)]
            found[f"{name}_sent"] = int((left == own).sum())
            fates = {
                "kept": own,
                "marked": CE,
                "as_ect0" if name == "ect1" else "as_ect1": other,
                "cleared": NOT_ECT,
            }
            found |= {f"{name}_{fate}": int((arrived == field).sum()) for fate, field in fates.items()}
        return found


def _whole(times: npt.NDArray[np.uint64]) -> Integers:
    return times.astype(np.int64)


def _by_identity(
    sent: Identities, came: Identities
) -> tuple[tuple[Integers, Integers], tuple[Integers, Integers, Integers, Integers]]:
    """Return pairs of places whose identity is once in each, and all places of other identities that are in both."""
    parts = 1 << max(0, (max(sent.size, came.size) // _AT_ONCE).bit_length())
    pairs, alike, names = [(_NONE, _NONE)], [(_NONE, _NONE, _NONE, _NONE)], 0
    for part in range(parts):
        there, here = (np.flatnonzero((each & np.uint64(parts - 1)) == part) for each in (sent, came))
        every = np.concatenate([sent[there], came[here]])
        order = np.argsort(every, kind="stable")
        starts = np.flatnonzero(np.concatenate([[True], np.diff(every[order]) != 0])) if every.size else _NONE
        from_sent = order < there.size
        sent_counts = np.add.reduceat(from_sent, starts, dtype=np.int64) if starts.size else _NONE
        counts = np.diff(np.append(starts, every.size))
        once = (sent_counts == 1) & (counts == 2)
        pairs.append((there[order[starts[once]]], here[order[starts[once] + 1] - there.size]))
        mixed = np.repeat((sent_counts > 0) & (sent_counts < counts) & ~once, counts)
        name = np.repeat(np.arange(starts.size), counts) + names
        names += starts.size
        one, other = mixed & from_sent, mixed & ~from_sent
        alike.append((there[order[one]], here[order[other] - there.size], name[one], name[other]))
    first, second = (np.concatenate([pair[place] for pair in pairs]) for place in range(2))
    by_time = np.argsort(first)
    a, b, c, d = (np.concatenate([each[place] for each in alike]) for place in range(4))
    return (first[by_time], second[by_time]), (a, b, c, d)


def _in_order(
    sent: tuple[Integers, Array], came: tuple[Integers, Array], window: float
) -> tuple[Integers, Integers, Mask, int]:
    """Match the k-th that was sent to the k-th that came, among those of one name without a longer pause than the window.

    Parameters
    ----------
    sent, came
        Names and times, seconds.
    window
        Seconds.

    Returns
    -------
    tuple
        Places in both, of which pairs more than one was sent, and how many came more often than they were sent.
    """
    names, times = (np.concatenate([one, other]) for one, other in zip(sent, came, strict=True))
    order = np.lexsort((times, names))
    begins = (np.diff(names[order], prepend=-1) != 0) | (np.diff(times[order], prepend=-np.inf) > window)
    clusters = np.empty(names.size, np.int64)
    clusters[order] = np.cumsum(begins) - 1
    here, there = clusters[: sent[0].size], clusters[sent[0].size :]
    number = int(begins.sum())
    counts = np.bincount(here, minlength=number), np.bincount(there, minlength=number)
    ranks = _ranks(here, sent[1]), _ranks(there, came[1])
    most = names.size + 1
    _, one, other = np.intersect1d(
        here * most + ranks[0], there * most + ranks[1], assume_unique=True, return_indices=True
    )
    possible = came[1][other] >= sent[1][one]
    one, other = one[possible], other[possible]
    again = np.maximum(counts[1] - counts[0], 0)[counts[0] > 0]
    return one, other, counts[0][here[one]] > 1, int(again.sum())


def _ranks(clusters: Integers, times: Array) -> Integers:
    """Count the earlier ones of each one's cluster."""
    order = np.lexsort((times, clusters))
    ordered = clusters[order]
    ranks = np.empty(clusters.size, np.int64)
    ranks[order] = np.arange(clusters.size) - np.searchsorted(ordered, ordered, side="left")
    return ranks


def _impossible(delays: Array) -> Mask:
    """Return which came far sooner than all that were sent around them.

    Then they are not the same packet: the capture missed one that was sent, and an equal one was lost later.
    """
    padded = np.pad(delays, _AROUND, constant_values=np.inf)
    lowest = np.lib.stride_tricks.sliding_window_view(padded, _AROUND).min(axis=1) if delays.size else delays
    before, after = lowest[: delays.size], lowest[_AROUND + 1 :][: delays.size]
    around = np.minimum(before, after)
    return np.isfinite(around) & (delays < around - _SOONER)


def _thinned(probes: Probes) -> Probes:
    """Return the fastest of each stretch of time, in the order in which they were sent."""
    order = np.argsort(probes.sent, kind="stable")
    sent, received = probes.sent[order], probes.received[order]
    if sent.size <= MOST_PROBES:
        return Probes(sent, received)
    seconds = (sent - sent[0]) / 1e9
    stretches = (seconds * (MOST_PROBES / np.nextafter(seconds[-1], np.inf))).astype(np.int64)
    fastest = np.lexsort((received - sent, stretches))
    first = fastest[np.diff(stretches[fastest], prepend=-1) != 0]
    return Probes(sent[first], received[first])


def _is_proxied(ways: tuple[_Way, _Way], matches: tuple[_Match, _Match]) -> bool:
    """Return True if packets of TCP do not match and others do."""
    counts = np.zeros((2, 2), np.int64)
    for way, match in zip(ways, matches, strict=True):
        of_tcp = way.source.records["protocol"][way.sent] == TCP
        for place, those in enumerate((of_tcp, ~of_tcp)):
            counts[place] += those.sum(), (those & (match.came >= 0)).sum()
    (tcp, tcp_matched), (rest, rest_matched) = counts.tolist()
    return tcp >= _SOME and rest >= _SOME and tcp_matched < _FEW * tcp and rest_matched > rest / 2
