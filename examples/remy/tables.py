"""Tables of rules: in files, and at work in a controller that tells what it was asked."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from trialwise import _core

MEMORY = ("ack_ewma_ms", "send_ewma_ms", "rtt_ratio", "slow_ack_ewma_ms")
END = 16384.0
Memory = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A box of what can be remembered, and what is done there."""

    low: tuple[float, ...] = (0.0,) * 4
    high: tuple[float, ...] = (END,) * 4
    window_multiple: float = 1.0
    window_increment: float = 1.0
    gap_ms: float = 1.0

    def holds(self, memory: Sequence[float]) -> bool:
        """Return whether the rule is that for this memory; what is beyond all boxes counts as the largest."""
        return all(
            low <= min(value, END - 1) < high
            for low, value, high in zip(self.low, memory, self.high, strict=True)
        )

    def divided(self, at: Sequence[float]) -> list[Rule]:
        """Return rules that do the same in the parts of the box that a point divides it into."""
        parts: list[Rule] = [self]
        for axis, value in enumerate(at):
            if self.low[axis] < value < self.high[axis]:
                parts = [half for part in parts for half in part.halves(axis, value)]
        return parts

    def halves(self, axis: int, value: float) -> tuple[Rule, Rule]:
        """Return the rule below a value on an axis, and that from there on."""
        high, low = list(self.high), list(self.low)
        high[axis] = low[axis] = value
        return replace(self, high=tuple(high)), replace(self, low=tuple(low))


def text_of(rules: Sequence[Rule], trained: Mapping[str, object] | None = None) -> str:
    """Return a table as a file holds it."""
    keys = ("low", "high", "window_multiple", "window_increment", "gap_ms")
    lines = [json.dumps({key: getattr(rule, key) for key in keys}) for rule in rules]
    head = {"format": "remy-table", "version": 1, "memory": MEMORY} | (
        {"trained": trained} if trained else {}
    )
    return json.dumps(head, indent=1)[:-2] + ',\n "rules": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"


def rules_of(text: str) -> list[Rule]:
    """Return the rules of a table that `text_of` made."""
    return [
        Rule(**each | {"low": tuple(each["low"]), "high": tuple(each["high"])})
        for each in json.loads(text)["rules"]
    ]


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


class Watched:
    """RemyCC once more, as a congestion control in Python that remembers each rule that it used, and what for."""

    feedback = "timestamps"
    rules: ClassVar[Sequence[Rule]] = ()
    seen: ClassVar[list[tuple[int, Memory]]] = []

    def __init__(self, context: _core.ControllerContext) -> None:
        self.segment = context.segment
        self.begin()

    @classmethod
    def following(cls, rules: Sequence[Rule]) -> type[Watched]:
        """Return a class that follows these rules."""
        return type("Following", (cls,), {"rules": rules, "seen": []})

    def begin(self) -> None:
        """Remember nothing."""
        self.values = [0.0] * 4
        self.last: tuple[float, float] | None = None
        self.least = float("inf")
        self.segments = 0.0
        self.follow(1)

    def follow(self, packets: int) -> None:
        """Do what the rule says, once for each packet."""
        number = next(number for number, rule in enumerate(self.rules) if rule.holds(self.values))
        self.seen.append((number, tuple(self.values)))
        rule = self.rules[number]
        for _ in range(packets):
            window = rule.window_multiple * self.segments + rule.window_increment
            self.segments = min(max(window, 1.0), 1e6)
        self.gap = rule.gap_ms

    @property
    def window(self) -> int:
        """Bytes."""
        return int(self.segments * self.segment)

    @property
    def pacing_rate(self) -> int:
        """Bit/s."""
        return int(8.0 * self.segment / (1e-3 * self.gap))

    def on_acknowledgement(self, event: _core.AcknowledgementEvent) -> None:
        """Remember the gaps and the round trip."""
        if not event.rtt_ps:
            return
        now, rtt = 1e3 * (event.now_ps / 1e12), 1e3 * (event.rtt_ps / 1e12)
        packets = min(max(event.packets, 1), 64)
        if self.last is not None:
            acknowledged, sent = (
                max(new - old, 0.0) / packets for new, old in zip((now, now - rtt), self.last, strict=True)
            )
            for axis, gap, weight in ((0, acknowledged, 1 / 8), (1, sent, 1 / 8), (3, acknowledged, 1 / 256)):
                for _ in range(packets):
                    self.values[axis] += weight * (gap - self.values[axis])
        self.last = (now, now - rtt)
        self.least = min(self.least, rtt)
        self.values[2] = rtt / self.least
        self.follow(packets)

    def on_loss(self, _event: _core.LossEvent) -> None:
        """Do nothing, as in the paper."""

    def on_timeout(self, _event: _core.TimeoutEvent) -> None:
        """Begin anew, with one segment."""
        self.begin()
        self.segments = 1.0

    def on_idle_restart(self, _now_ps: int, _idle_ps: int) -> None:
        """Begin anew."""
        self.begin()
