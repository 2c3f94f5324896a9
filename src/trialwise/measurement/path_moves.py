"""Between what real paths move whose route changes by design, such as those over satellites."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trialwise.errors import StoreError
from trialwise.measurement.path_condition import PathCondition, is_another_round_trip

KEY = "moves of path "
"""What begins the keys of a ledger's `meta` that hold them."""


@dataclass(frozen=True, slots=True)
class PathMoves:
    """Between what a path whose route changes by design has moved over the trials of an experiment.

    `ttl` are all that came to each end, and `within` the trials in which the route changed.
    """

    path: str
    ends: tuple[str, str]
    lowest_ms: float | None = None
    highest_ms: float | None = None
    ttl: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    within: tuple[int, ...] = ()

    def with_trial(self, number: int, found: PathCondition) -> PathMoves:
        """Return what is known with one more trial; the same trial may come again."""
        known = [each for each in (self.lowest_ms, self.highest_ms, found.round_trip_ms) if each is not None]
        one, other = (
            tuple(sorted({*every} if ttl is None else {*every, ttl}))
            for every, ttl in zip(self.ttl, found.ttl, strict=True)
        )
        within = {*self.within, *([number] if found.changed_within else [])}
        return PathMoves(
            self.path,
            self.ends,
            min(known, default=None),
            max(known, default=None),
            (one, other),
            tuple(sorted(within)),
        )

    @property
    def text(self) -> str:
        """What has moved, in words; empty if nothing has."""
        low, high = self.lowest_ms, self.highest_ms
        parts = [
            f"TTL at {end} {', '.join(map(str, every))}"
            for end, every in zip(self.ends, self.ttl, strict=True)
            if len(every) > 1
        ]
        if low is not None and high is not None and is_another_round_trip(low, high):
            parts.append(f"lowest round trip {low:.3g} to {high:.3g} ms")
        if self.within:
            parts.append(f"changes within {len(self.within)} trial{'s' * (len(self.within) > 1)}")
        told = "; ".join(parts)
        return told and f"{self.path}: {told}, as expected of it: its trials form one series"

    def to_json(self) -> dict[str, Any]:
        """Return a mapping for `json.dumps`."""
        return {name: getattr(self, name) for name in PathMoves.__slots__ if name != "path"}

    @classmethod
    def from_json(cls, path: str, record: Mapping[str, Any]) -> PathMoves:
        """Read what `to_json` wrote; raises ValueError, TypeError, KeyError or AttributeError for anything else."""
        (one, other), (first, second) = record["ends"], record["ttl"]
        low, high = (
            None if each is None else float(each) for each in (record["lowest_ms"], record["highest_ms"])
        )
        ttl = tuple(map(int, first)), tuple(map(int, second))
        return cls(path, (str(one), str(other)), low, high, ttl, tuple(map(int, record["within"])))


def moves_in(meta: Mapping[str, str]) -> Iterator[PathMoves]:
    """Yield what a ledger's `meta` holds of them.

    Raises
    ------
    StoreError
        It cannot be read.
    """
    for key, text in meta.items():
        if not key.startswith(KEY):
            continue
        path = key.removeprefix(KEY)
        try:
            yield PathMoves.from_json(path, json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StoreError(
                f"the ledger holds moves of path {path} that cannot be read: {text!r:.100}"
            ) from error
