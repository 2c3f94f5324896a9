"""What the packets of trials say of the path that they crossed, before anything is searched for.

Delays are used in difference form alone: a constant error of the clocks at the two ends changes nothing, as the propagation is half
of the least round trip. Causes of losses are not used either, because a real path does not tell them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, sqrt

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.likeness.results import IdentifiedWay, LossRuns, Parameter, Service
from trialwise.arrays import Array, Mask
from trialwise.errors import AnalysisError
from trialwise.late import special
from trialwise.measurement.packets import DELIVERED, DIRECTIONS, HELD, Direction, Packets

CONFIDENCE = 95.0
WINDOWS = (0.01, 0.1, 1.0)
"""Seconds: the windows in which the service of a busy queue is counted."""
_LEAST_BUSY = 200
"""Gaps behind a waiting packet that a rate takes."""
_RATE_STEP, _DELAY_STEP = 1e-3, 5e-5
"""Resolution of a rate as a share of it, and of a delay in seconds: no interval is narrower."""
_EVEN = 0.1
"""Share of the median gap within which most gaps are where packets leave one by one; in bursts, the median says nothing."""
_OPPORTUNITY = 1e-3
"""Seconds between the instants at which a trace, or a Poisson process, may send; a packet may always have waited for the next."""
_OVERTAKES = 1e-6
"""Seconds by which a packet has to be overtaken; less is rounding."""
_BURST = 1e-7
"""Seconds within which packets came at once."""
_CONSTANT, _POISSON = 0.3, 3.0
"""Largest index of dispersion (variance over mean of packets in 100 ms) of a constant rate, and of a Poisson process."""
_TOP, _CHANCE = 0.95, 1e-3
"""Occupancy, as a share of the largest, that losses for want of room meet; and the probability below which that is no chance."""
_FULL, _FREE = 0.8, 0.5
"""Occupancy, as a share of the largest, from which losses count as overflow, and up to which they do not."""


@dataclass(frozen=True, slots=True)
class _Crossing:
    """One direction of one trial: the packets of known fate in the order in which they came to the path.

    `came` and `left` are in seconds; `left` is of those that arrived, in the order in which they did.
    """

    came: Array
    lost: Mask
    arrivals: Array
    left: Array
    delay: Array
    size: Array

    @property
    def waiting(self) -> Mask:
        """Of each packet that arrived but the first, whether it had come before the one ahead of it left."""
        return self.arrivals[1:] <= self.left[:-1] - float(self.delay.min())

    def occupancy(self, base: float) -> Array:
        """Return how many other packets that arrived were in the path's queue when each packet came; those of one burst all were."""
        came = np.searchsorted(np.sort(self.arrivals), self.came + _BURST, side="right") - ~self.lost
        gone = np.searchsorted(np.sort(self.left) - base, self.came, side="right")
        return np.maximum(came - gone, 0)


def _crossing(packets: Packets, direction: Direction) -> _Crossing | None:
    part = _before_the_end(packets.of(direction))
    arrived = part.where(part.event == DELIVERED)
    if len(arrived) < 2:
        return None
    came = part.time - part.delay
    order = np.argsort(came, kind="stable")
    by_exit = np.argsort(arrived.time, kind="stable")
    return _Crossing(
        came=came[order],
        lost=(part.event != DELIVERED)[order],
        arrivals=(arrived.time - arrived.delay)[by_exit],
        left=arrived.time[by_exit],
        delay=arrived.delay[by_exit],
        size=arrived.size[by_exit].astype(np.float64),
    )


def _before_the_end(part: Packets) -> Packets:
    """Return the packets that came before those that were still inside at the end, beside which a queue would seem empty."""
    part = part.originals()
    held, came = part.event == HELD, part.time - part.delay
    return part.where((came < came[held].min(initial=np.inf)) & ~held)


def identify(trials: Sequence[Packets]) -> tuple[IdentifiedWay, IdentifiedWay]:
    """Identify what each direction of a path does to packets.

    Parameters
    ----------
    trials
        The packets of each trial; two trials or more.

    Returns
    -------
    tuple
        Uplink and downlink. Where the queue of a direction was hardly ever busy, its rate is None.

    Raises
    ------
    AnalysisError
        There are fewer than two trials, or no packet arrived in some direction.
    """
    if len(trials) < 2:
        raise AnalysisError(
            f"an interval takes two trials or more to fit, and there are {len(trials)}",
            hint="run more rounds, or hold out fewer treatments",
        )
    ways: list[list[_Crossing]] = []
    for direction in DIRECTIONS:
        found = [one for packets in trials if (one := _crossing(packets, direction)) is not None]
        if len(found) < 2:
            raise AnalysisError(
                f"fewer than two trials have packets that arrived on the {direction}",
                hint="both directions have to be recorded: data one way, acknowledgements the other",
            )
        ways.append(found)
    services = [_service(way) for way in ways]
    sending = [
        8 / service.rate.value if _takes_time(service) else 0.0 for service in services if service.rate
    ]
    times = [
        8 / one.rate.value if one.rate and _takes_time(one) else (sending or [0.0])[0] for one in services
    ]
    bases = [[_least(one, time) for one in way] for way, time in zip(ways, times, strict=True)]
    delay = _propagation(bases, _DELAY_STEP if any(map(_takes_time, services)) else _OPPORTUNITY)
    up, down = (_way(*each, delay) for each in zip(ways, services, bases, strict=True))
    return up, down


def _takes_time(service: Service) -> bool:
    """Return whether sending a packet takes time; at an opportunity of a trace it leaves at once."""
    return service.is_even


# Service


def _service(way: Sequence[_Crossing]) -> Service:
    """Return the rate of a direction while its queue was busy, and how steady it is."""
    gaps = [(np.diff(one.left)[one.waiting], one.size[1:][one.waiting]) for one in way]
    busy = [(gap, size) for gap, size in gaps if gap.size >= _LEAST_BUSY and gap.sum() > 0]
    if len(busy) < 2:
        return Service(None, "unknown", {}, is_even=False)
    dispersion = {str(window): value for window in WINDOWS if (value := _dispersion(way, window)) is not None}
    middle = next((dispersion[str(w)] for w in (0.1, 0.01, 1.0) if str(w) in dispersion), None)
    if middle is None:
        return Service(None, "unknown", {}, is_even=False)
    family = "constant" if middle < _CONSTANT else "poisson" if middle <= _POISSON else "varying"
    is_even = family == "constant" and _is_even(busy)
    return Service(_steady(busy) if is_even else _changing(way), family, dispersion, is_even)


def _is_even(busy: Sequence[tuple[Array, Array]]) -> bool:
    """Return whether packets left one by one: most gaps are near the median, which is then that of the rate."""
    times = np.concatenate([gap / size for gap, size in busy])
    middle = float(np.median(times))
    return float((np.abs(times - middle) < _EVEN * middle).mean()) > 0.5


def _steady(busy: Sequence[tuple[Array, Array]]) -> Parameter:
    found = st.mean_interval([8 / float(np.median(gap / size)) for gap, size in busy], confidence=CONFIDENCE)
    return _rate(found.estimate, found.low, found.high, "median of the gaps behind waiting packets")


def _changing(way: Sequence[_Crossing]) -> Parameter | None:
    """Return all bytes over all times from one instant of service to the next behind which enough packets wait.

    Whether they do is known before the time begins. Gaps alone would not do: many packets leave in one millisecond of a trace, and a
    busy time begins with the first of them and ends before the last.
    """
    served = [found for one in way if (found := _served(one)) is not None]
    if len(served) < 2:
        return None
    sizes, seconds = np.array(served).T
    value, reach = 8 * float(sizes.sum() / seconds.sum()), 8 * _between(sizes, seconds)
    return _rate(value, value - reach, value + reach, "bytes over time from which enough packets wait")


def _served(one: _Crossing) -> tuple[float, float] | None:
    """Return bytes that left, and the seconds they took, from instants after which enough packets waited; None if hardly any did."""
    first = np.flatnonzero(np.diff(one.left, prepend=-np.inf) > _BURST)
    instants, together = one.left[first], np.diff(first, append=one.left.size)
    come = np.searchsorted(np.sort(one.arrivals), instants - float(one.delay.min()), side="right")
    waits = (come - np.cumsum(together) >= together.max())[:-1]
    if together[1:][waits].sum() < _LEAST_BUSY:
        return None
    sizes = np.add.reduceat(one.size, first)
    return float(sizes[1:][waits].sum()), float(np.diff(instants)[waits].sum())


def _rate(value: float, low: float, high: float, how: str) -> Parameter:
    step = _RATE_STEP * value
    return Parameter(
        "rate", "bit/s", value, min(low, value - step), max(high, value + step), "identified", how
    )


def _dispersion(way: Sequence[_Crossing], window: float) -> float | None:
    """Return variance over mean of the packets that leave in windows of an uninterrupted busy time; None with fewer than 20."""
    counts: list[Array] = []
    for one in way:
        edges = np.flatnonzero(np.diff(np.concatenate([[0], one.waiting.astype(np.int8), [0]])))
        for first, last in edges.reshape(-1, 2):
            times = one.left[first : last + 1]
            number = int((times[-1] - times[0]) / window)
            if number:
                bins = ((times[1:] - times[0]) / window).astype(np.int64)
                counts.append(np.bincount(bins, minlength=number)[:number].astype(np.float64))
    joined = np.concatenate(counts) if counts else np.array([])
    return float(joined.var(ddof=1) / joined.mean()) if joined.size >= 20 and joined.mean() > 0 else None


# Delay


def _least(one: _Crossing, sending: float) -> float:
    """Return the least delay of a direction without that of sending the packet, which takes `sending` seconds a byte."""
    return float((one.delay - sending * one.size).min())


def _propagation(own: Sequence[Sequence[float]], step: float) -> Parameter:
    """Return half of the least round trip over all trials.

    A minimum is never below the truth. The lower bound is that of Robson and Whitlock (1964) for the end of a distribution from
    its two lowest values, and `step` below it (seconds).
    """
    least = [sorted(way)[:2] for way in own]
    value = sum(way[0] for way in least) / 2
    reach = (CONFIDENCE / (100 - CONFIDENCE)) * max(way[1] - way[0] for way in least)
    return Parameter(
        name="delay",
        unit="s",
        value=max(value, 0.0),
        low=max(value - reach - step, 0.0),
        high=value + _DELAY_STEP,
        source="identified",
        how="half of the least round trip, without the time of sending",
    )


# Queue and loss


def _way(
    way: Sequence[_Crossing], service: Service, bases: Sequence[float], delay: Parameter
) -> IdentifiedWay:
    held = [one.occupancy(base) for one, base in zip(way, bases, strict=True)]
    largest = max(float(np.quantile(each, 0.9999)) for each in held)
    limit = _limit(way, held, largest)
    free = [each <= _FREE * largest if limit is not None else np.ones(each.shape, bool) for each in held]
    loss, runs = _loss(way, free)
    scale = 1 / (1 - loss.value)
    queue = None if limit is None else _packets(limit * scale - _takes_time(service))
    doubts = tuple(_doubts(way, service, held, largest))
    return IdentifiedWay(_with_lost(service, scale), delay, queue, largest * scale, loss, runs, doubts)


def _with_lost(service: Service, scale: float) -> Service:
    """Return a service whose rate counts what was lost behind the queue, too; the median of gaps does not see it."""
    rate = service.rate
    if rate is None or _takes_time(service):
        return service
    larger = dataclasses.replace(rate, value=rate.value * scale, low=rate.low * scale, high=rate.high * scale)
    return dataclasses.replace(service, rate=larger)


def _limit(way: Sequence[_Crossing], held: Sequence[Array], largest: float) -> Array | None:
    """Return the length of the queue at losses for want of room, one for each trial; None if no queue was full."""
    at_loss = [each[one.lost] for one, each in zip(way, held, strict=True)]
    every, lost = np.concatenate(held), np.concatenate(at_loss)
    when_full = _share(lost >= _FULL * largest, every >= _FULL * largest)
    when_free = _share(lost <= _FREE * largest, every <= _FREE * largest)
    full = [each[each >= _FULL * largest] for each in at_loss]
    lengths = [float(np.median(each)) for each in full if each.size >= 2]
    is_full = when_full > max(5 * when_free, 0.01) or _is_at_the_top(lost, every, largest)
    is_full &= largest >= 2 and len(lengths) >= 2
    return np.array(lengths) if is_full else None


def _is_at_the_top(lost: Array, every: Array, largest: float) -> bool:
    """Return True if losses met the longest queues more often than packets at large did, beyond chance (exact binomial).

    A flow that keeps a queue full loses few of the packets that find it long, but those that find it longest.
    """
    from scipy.stats import binomtest

    top = _TOP * largest
    if not lost.size:
        return False
    there = int((lost >= top).sum())
    at_large = float((every >= top).mean())
    return bool(binomtest(there, lost.size, at_large, "greater").pvalue < _CHANCE)


def _share(lost: Mask, every: Mask) -> float:
    return int(lost.sum()) / int(every.sum()) if every.any() else 0.0


def _packets(lengths: Array) -> Parameter:
    """Return the limit of a queue, which counts whole packets: its interval reaches up to a packet further on each side."""
    mean = st.mean_interval(lengths, confidence=CONFIDENCE)
    low, high = max(floor(mean.low - 0.5), 1), ceil(mean.high + 0.5)
    how = "packets in the queue at losses when it is full"
    return Parameter(
        "queue", "packets", max(round(mean.estimate), 1), float(low), float(high), "identified", how
    )


def _loss(way: Sequence[_Crossing], free: Sequence[Mask]) -> tuple[Parameter, LossRuns]:
    """Return the loss while the queue was at most half full, and whether its losses come in runs."""
    fates = [one.lost[mask] for one, mask in zip(way, free, strict=True)]
    lost = np.array([int(each.sum()) for each in fates])
    sent = np.array([each.size for each in fates])
    if not sent.sum():
        return Parameter(
            "loss", "", 0.0, 0.0, 1.0, "assumed", "the queue was never at most half full"
        ), LossRuns(0, 0, None, None)
    exact = st.proportion(int(lost.sum()), int(sent.sum()), confidence=CONFIDENCE)
    share, spread = int(lost.sum()) / int(sent.sum()), _between(lost, sent)
    low, high = (
        max(min(exact.low / 100, share - spread), 0.0),
        min(max(exact.high / 100, share + spread), 1.0),
    )
    how = "losses while the queue was at most half full"
    found = Parameter("loss", "", share, low, high, "identified", how)
    return found, _runs(fates, share)


def _between(part: Array, whole: Array) -> float:
    """Return the half-width of the interval of a ratio over trials, by its linearised deviations (Cochran 1977, section 6.3)."""
    n, off = part.size, part - part.sum() / whole.sum() * whole
    return _reach(n) * sqrt(float((off**2).sum()) / (n * (n - 1))) / float(whole.mean())


def _reach(n: int) -> float:
    return float(special.stdtrit(n - 1, 0.5 + CONFIDENCE / 200))


def _runs(fates: Sequence[Mask], share: float) -> LossRuns:
    """Compare losses right after a loss with losses at large; a Gilbert model stands where they are more (exact binomial)."""
    from scipy.stats import binomtest

    after = sum(int(each[:-1].sum()) for each in fates)
    again = sum(int((each[:-1] & each[1:]).sum()) for each in fates)
    p = (
        float(binomtest(again, after, share, alternative="greater").pvalue)
        if after and 0 < share < 1
        else None
    )
    leaves = 1 - again / after if after else 1.0
    if p is None or p > 0.001 or again < 5 or leaves <= 0:
        return LossRuns(after, again, p, None)
    return LossRuns(after, again, p, (share * leaves / (1 - share), leaves))


def _doubts(
    way: Sequence[_Crossing], service: Service, held: Sequence[Array], largest: float
) -> Iterator[str]:
    """Yield what of the direction is outside of the paths that can be fitted."""
    if service.family == "varying":
        yield "its rate varies by more than a Poisson process, which is fitted in place of it"
    overtaken = sum(int((np.diff(one.arrivals) < -_OVERTAKES).sum()) for one in way)
    if overtaken > 0.001 * sum(one.arrivals.size for one in way):
        yield "packets overtake each other; a path that keeps their order is fitted"
    if largest >= 4 and _rises(way, held, largest):
        yield "losses become more long before the queue is full, as with an AQM; a queue that drops its tail is fitted"


def _rises(way: Sequence[_Crossing], held: Sequence[Array], largest: float) -> bool:
    """Return whether more packets are lost in a longer queue that is not full yet (Fisher's exact test)."""
    from scipy.stats import fisher_exact

    every = np.concatenate(held)
    lost = np.concatenate([one.lost for one in way])
    short, long = every <= 0.1 * largest, (every > 0.1 * largest) & (every < _FULL * largest)
    table = np.array([[int((lost & part).sum()), int((~lost & part).sum())] for part in (long, short)])
    p = float(fisher_exact(table, alternative="greater").pvalue)
    return p < 1e-4 and _share(lost & long, long) > 2 * _share(lost & short, short)
