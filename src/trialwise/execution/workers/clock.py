"""Estimate the offset of a worker's clock, within the bounds given by round trips."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from trialwise.experiment.quantity import duration_text

_KEPT = 8
"""Number of probes kept."""
_DRIFT = 1e-4
"""Maximum relative drift of two clocks in seconds per second: several times that of free-running quartz."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A request to the worker: our clock before and after it, and the worker's in between, in Unix seconds."""

    before: float
    there: float
    after: float


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The worker's clock minus ours in seconds: it lies between `offset` - `bound` and `offset` + `bound`."""

    offset: float
    bound: float

    @property
    def shift(self) -> float:
        """Return what to subtract from the worker's times: 0 unless the clocks are known to differ."""
        return self.offset if abs(self.offset) > self.bound else 0.0

    @property
    def text(self) -> str:
        """Say how far the clock is off, with the bound; or that it is not known to differ."""
        bound = f"± {duration_text(self.bound)}"
        if not self.shift:
            return f"its clock is not known to differ from ours ({bound})"
        ahead = "ahead of" if self.offset > 0 else "behind"
        return f"its clock is {duration_text(abs(self.offset))} {ahead} ours ({bound})"


class ClockProbes:
    """The latest probes of one worker, and their joint estimate."""

    def __init__(self) -> None:
        self._probes: deque[Probe] = deque(maxlen=_KEPT)
        self.found = ClockOffset(0.0, float("inf"))

    def add(self, probe: Probe) -> None:
        """Add a probe; one that agrees with no older probe means that a clock was set, and replaces them all."""
        self._probes.append(probe)
        found = offset_of(self._probes)
        if found is None:
            self._probes = deque([probe], maxlen=_KEPT)
            found = offset_of(self._probes)
        if found is not None:
            self.found = found


def offset_of(probes: Iterable[Probe]) -> ClockOffset | None:
    """Bound the offset by all probes together; None if they contradict each other.

    The worker read its clock between `before` and `after` on ours, so the offset lies between `there` - `after` and
    `there` - `before`, however the round trip splits: half of it to either side (RFC 5905, section 8). The offset
    lies in all these intervals, each widened by the clocks' possible drift since.
    """
    known = list(probes)
    latest = max((probe.after for probe in known), default=0.0)
    slacks = [_DRIFT * abs(latest - probe.after) for probe in known]
    low = max(probe.there - probe.after - slack for probe, slack in zip(known, slacks, strict=True))
    high = min(probe.there - probe.before + slack for probe, slack in zip(known, slacks, strict=True))
    return None if low > high else ClockOffset((low + high) / 2, (high - low) / 2)
