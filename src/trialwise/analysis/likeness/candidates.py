"""The paths among which a search looks for the likest one: within the intervals of what was identified."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, inf, log

from trialwise.analysis.likeness.results import IdentifiedWay, Parameter
from trialwise.arrays import Array
from trialwise.errors import AnalysisError
from trialwise.experiment.link_words import delay_words, loss_words, rate_words
from trialwise.experiment.trials import PathSettings
from trialwise.numbers import write

_WIDE, _LONG = 0.01, 5e-4
"""Width of an interval from which its parameter is searched: a share of the value, for a delay seconds."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A path: rate (bit/s) and delay each way (seconds), queue (packets, None without limit) and loss of the searched direction."""

    rate: float
    delay: float
    queue: int | None
    loss: float


@dataclass(frozen=True, slots=True)
class _Axis:
    name: str
    low: float
    high: float
    is_logarithmic: bool = False

    def at(self, share: float) -> float:
        """Return the value at a share from 0 to 1 of the axis."""
        if self.is_logarithmic:
            return exp(log(self.low) + share * (log(self.high) - log(self.low)))
        return self.low + share * (self.high - self.low)

    def share(self, value: float) -> float:
        """Return where a value stands, from 0 to 1."""
        if self.is_logarithmic:
            return (log(value) - log(self.low)) / (log(self.high) - log(self.low))
        return (value - self.low) / (self.high - self.low)


class Family:
    """The paths that can be fitted to what was identified; `main` is the direction that is searched, with a busy queue."""

    def __init__(self, uplink: IdentifiedWay, downlink: IdentifiedWay) -> None:
        """Choose the direction whose rate is known.

        Raises
        ------
        AnalysisError
            No queue was busy in either direction.
        """
        self.ways = uplink, downlink
        self.main = 0 if uplink.service.rate is not None else 1
        self.way = self.ways[self.main]
        if self.way.service.rate is None:
            raise AnalysisError(
                "no queue of the path was ever busy, so that nothing tells its rate",
                hint="let a scheme that fills the path be among those to fit, such as cubic or udp-saturator",
            )
        self.axes = tuple(self._axes())

    def _axes(self) -> Iterator[_Axis]:
        """Yield the parameters of which the trials leave so much open that it is searched."""
        for known in (self.way.service.rate, self.way.delay, self.way.queue, self.way.loss):
            if known is not None and known.high - known.low > self._least(known):
                yield _Axis(known.name, known.low, known.high, is_logarithmic=known.name == "queue")

    def _least(self, known: Parameter) -> float:
        return _LONG if known.name == "delay" else _WIDE * known.value

    @property
    def identified(self) -> Candidate:
        """The path as it was identified, before any search."""
        rate, queue = self.way.service.rate, self.way.queue
        return Candidate(
            rate.value if rate else inf,
            self.way.delay.value,
            None if queue is None else round(queue.value),
            self.way.loss.value,
        )

    def candidate(self, point: Array) -> Candidate:
        """Return the path at a point of the unit cube; what has no axis is as it was identified."""
        found = {axis.name: axis.at(float(share)) for axis, share in zip(self.axes, point, strict=True)}
        known = {name: value for name, value in found.items() if name != "queue"}
        queue = {"queue": max(round(found["queue"]), 1)} if "queue" in found else {}
        return dataclasses.replace(self.identified, **known, **queue)

    def point(self, candidate: Candidate) -> list[float]:
        """Return the point of the unit cube that stands for a path."""
        return [axis.share(float(getattr(candidate, axis.name))) for axis in self.axes]

    def settings(self, candidate: Candidate, mtu: int = 1500) -> PathSettings:
        """Return the path as the emulator and the simulator take it."""
        links = [self._link(number, candidate) for number in range(2)]
        return PathSettings((links[0],), (links[1],), mtu)

    def _link(self, number: int, candidate: Candidate) -> tuple[tuple[str, str], ...]:
        way = self.ways[number]
        if number == self.main:
            rate, queue, loss = candidate.rate, candidate.queue, candidate.loss
        else:
            own = way.service.rate
            rate = own.value if own is not None else candidate.rate
            queue = None if way.queue is None else round(way.queue.value)
            loss = way.loss.value
        service = way.service if way.service.rate is not None else self.way.service
        pairs = {"rate": rate_words(rate, poisson=service.family != "constant")}
        if queue is not None:
            pairs["queue"] = f"droptail:packets={queue}"
        if loss > 0:
            pairs["loss"] = loss_words(loss, way.runs.gilbert and way.runs.gilbert[1])
        pairs["delay"] = delay_words(candidate.delay)
        return tuple(pairs.items())

    def parameters(self, candidate: Candidate) -> tuple[Parameter, ...]:
        """Return the parameters of a path, with the intervals of those that were identified."""
        way = self.way
        found: list[Parameter] = []
        for known in (way.service.rate, way.delay, way.queue, way.loss):
            if known is not None:
                value = getattr(candidate, known.name)
                source = known.source if value == getattr(self.identified, known.name) else "searched"
                found.append(dataclasses.replace(known, value=float(value), source=source))
        if way.queue is None:
            how = "no queue was full: the longest one seen is a lower bound, and the path has no limit"
            found.insert(2, Parameter("queue", "packets", inf, way.longest, inf, "assumed", how))
        return tuple(found)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What of the real path lies outside of what can be fitted, by direction, and what the trials to fit leave unknown."""
        names = ("uplink", "downlink")
        outside = [(name, doubt) for name, way in zip(names, self.ways, strict=True) for doubt in way.doubts]
        unknown = [(names[self.main], doubt) for doubt in self._unknown()]
        return tuple(f"{name}: {doubt}" for name, doubt in (*outside, *unknown))

    def _unknown(self) -> Iterator[str]:
        if self.way.queue is None:
            yield (
                "no scheme to fit filled the queue, so its limit is unknown (at least "
                f"{write(self.way.longest, 'down')} packets) and the path has none: schemes that fill it may differ for that "
                "reason alone; fit one that fills it, such as udp-saturator"
            )
        if self.way.loss.source == "assumed":
            yield (
                "the queue was never at most half full, so that random loss is unknown and the path has none; "
                "fit a scheme that leaves it half empty, such as udp-copa"
            )
