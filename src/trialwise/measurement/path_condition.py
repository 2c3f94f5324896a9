"""The condition of a real path during a trial, and which changes of it make trials incomparable."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from trialwise.measurement.identity import Change

Machines = Mapping[str, Mapping[str, str]]
LEAST_MS = 1.0
SHARE = 20
"""A lowest round trip is another if it differs by more than `LEAST_MS` and by more than a `SHARE`-th (5 %) of the earlier one."""
_NS = 1e6


@dataclass(frozen=True, slots=True)
class PathCondition:
    """What a trial over a real path began with. Unknown parts are None and never count as changed.

    Attributes
    ----------
    path
        Name of the path in the experiment, or its two ends.
    ends
        Names of the two ends, `from` first.
    ttl
        TTL (hop limit) of the other end's packets when they come to each end.
    round_trip_ms
        The lowest round trip before the flows.
    machines
        What is compared of each end's environment (kernel, settings of the network, programs), by the end's name.
    changed_within
        What changed during the trial, in words; empty if nothing did.
    is_expected
        Whether the route changes by design: then only what changes of the machines begins another series.
    """

    path: str
    ends: tuple[str, str]
    ttl: tuple[int | None, int | None] = (None, None)
    round_trip_ms: float | None = None
    machines: Machines = field(default_factory=dict[str, Mapping[str, str]])
    changed_within: str = ""
    is_expected: bool = False

    def changes(self, before: PathCondition) -> Iterator[Change]:
        """Yield what differs from an earlier trial on the path, and so begins another series."""
        if not self.is_expected:
            yield from self.route_changes(before)
        for end in self.ends:
            then, now = before.machines.get(end, {}), self.machines.get(end, {})
            for name in sorted(then.keys() & now.keys()):
                if then[name] != now[name]:
                    yield Change("path", f"{name} at {end}", then[name], now[name])

    def route_changes(self, before: PathCondition) -> Iterator[Change]:
        """Yield what differs of the route."""
        for end, then, now in zip(self.ends, before.ttl, self.ttl, strict=True):
            if then is not None and now is not None and then != now:
                yield Change("path", f"TTL at {end}", str(then), str(now))
        then, now = before.round_trip_ms, self.round_trip_ms
        if then is not None and now is not None and is_another_round_trip(then, now):
            yield Change("path", "lowest round trip", f"{then:.3g} ms", f"{now:.3g} ms")

    def filled(self, later: PathCondition) -> PathCondition:
        """Return this condition with what it does not know taken from a later trial without changes."""
        known = (
            ours if ours is not None else theirs for ours, theirs in zip(self.ttl, later.ttl, strict=True)
        )
        return dataclasses.replace(
            self,
            ttl=(next(known), next(known)),
            round_trip_ms=later.round_trip_ms if self.round_trip_ms is None else self.round_trip_ms,
            machines={
                end: {**later.machines.get(end, {}), **self.machines.get(end, {})}
                for end in {**self.machines, **later.machines}
            },
        )

    def to_json(self) -> dict[str, Any]:
        """Return a mapping for `json.dumps`."""
        return {
            "ends": self.ends,
            "ttl": self.ttl,
            "round_trip_ms": self.round_trip_ms,
            "machines": self.machines,
        }

    @classmethod
    def from_json(cls, path: str, record: Mapping[str, Any]) -> PathCondition:
        """Read the condition that `to_json` wrote; raises ValueError, TypeError, KeyError or AttributeError for anything else."""
        (one, other), (first, second) = record["ends"], record["ttl"]
        machines = {
            str(end): {str(name): str(text) for name, text in facts.items()}
            for end, facts in record["machines"].items()
        }
        return cls(path, (str(one), str(other)), (first, second), record["round_trip_ms"], machines)


def is_another_round_trip(before_ms: float, now_ms: float) -> bool:
    """Return True if a lowest round trip differs by more than max(1 ms, 5 %) from an earlier one; whole nanoseconds are compared."""
    before, now = round(before_ms * _NS), round(now_ms * _NS)
    apart = abs(now - before)
    return apart > LEAST_MS * _NS and SHARE * apart > before
