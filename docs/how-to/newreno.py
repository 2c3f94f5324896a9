"""NewReno (RFC 5681, RFC 6582) as a class that trials with simulated packets call: `scheme = "python:newreno:NewReno"`."""

from __future__ import annotations

import math

from trialwise._core import AcknowledgementEvent, ControllerContext, LossEvent, TimeoutEvent

MINIMUM_TIMEOUT_PS = 10**12


class NewReno:
    """A window in segments; times in picoseconds, sizes in bytes."""

    ecn = True  # packets may be marked instead of dropped
    spreads_window = True  # what the window allows leaves spread over a round trip

    def __init__(self, context: ControllerContext) -> None:
        self.segment = context.segment
        self.segments = self.initial = 10.0
        self.threshold = math.inf
        self.before: tuple[float, float] | None = None
        self.cumulative = 0
        self.marked_until: int | None = None
        self.recovering = False
        self.smoothed: int | None = None
        self.variation = 0

    @property
    def window(self) -> int:
        """How many bytes may be in flight."""
        return math.floor(self.segments * self.segment + 0.5)

    @property
    def in_slow_start(self) -> bool:
        """Whether the window doubles in a round trip."""
        return not self.recovering and self.segments < self.threshold

    def on_acknowledgement(self, event: AcknowledgementEvent) -> None:
        """Grow: by what is acknowledged in slow start, by a segment in a round trip after it; a mark counts as a loss."""
        self.recovering = event.in_recovery
        self._measure(event.rtt_ps)
        if self._is_marked(event):
            self._reduce(event.in_flight / self.segment + event.acknowledged / self.segment)
            return
        grown = event.acknowledged / self.segment
        if event.in_recovery or event.application_limited or grown == 0:
            return
        self.segments += grown if self.segments < self.threshold else grown / self.segments

    def on_loss(self, event: LossEvent) -> None:
        """Halve, once for an episode."""
        self.recovering = True
        if event.new_episode and (self.marked_until is None or self.cumulative >= self.marked_until):
            self._reduce(event.in_flight / self.segment + event.bytes / self.segment)

    def on_timeout(self, event: TimeoutEvent) -> None:
        """Begin again with one segment."""
        if event.repetition <= 1:
            self.before = (self.segments, self.threshold)
            self.threshold = max(event.in_flight / self.segment / 2.0, 2.0)
        self.recovering = False
        self.segments = 1.0

    def on_spurious(self, now_ps: int) -> None:  # noqa: ARG002
        """The loss was none: undo."""
        if self.before and self.segments < self.before[0]:
            self.segments, self.threshold = self.before
            self.before = None

    def on_idle_restart(self, now_ps: int, idle_ps: int) -> None:  # noqa: ARG002
        """After a pause, no more than at the beginning."""
        timeout = 0 if self.smoothed is None else self.smoothed + 4 * self.variation
        if idle_ps > max(timeout, MINIMUM_TIMEOUT_PS):
            self.segments = min(self.segments, self.initial)

    def _reduce(self, flight: float) -> None:
        self.before = (self.segments, self.threshold)
        self.segments = self.threshold = max(flight / 2.0, 2.0)

    def _is_marked(self, event: AcknowledgementEvent) -> bool:
        self.cumulative = max(self.cumulative, event.cumulative)
        later = self.marked_until is None or self.cumulative > self.marked_until
        reduces = event.marked_packets > 0 and not event.in_recovery and later
        if reduces:
            self.marked_until = event.next_sequence
        return reduces

    def _measure(self, rtt: int | None) -> None:
        if rtt is None:
            return
        if self.smoothed is None:
            self.smoothed, self.variation = rtt, rtt // 2
            return
        self.variation = (self.variation * 3 + abs(self.smoothed - rtt)) // 4
        self.smoothed = (self.smoothed * 7 + rtt) // 8
