"""Files of what each end of a path saw, made for tests, and what is true of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trialwise.measurement.sightings import CAME, HEADER, MAGIC, RECORD, SENT, VERSION, Sightings


def write_sightings(
    path: Path, records: np.ndarray, lost: int = 0, clocks: tuple[int, int, int, int] = (1, 1, 2, 2)
) -> Path:
    """As crates/capture writes them."""
    path.write_bytes(HEADER.pack(MAGIC, VERSION, RECORD.itemsize, *clocks, lost, 0, 0) + records.tobytes())
    return path


@dataclass
class Crossed:
    """Packets of both directions over one path, by the true time (that of A); uplink first."""

    seconds: float = 20.0
    rates: tuple[int, int] = (2000, 500)
    loss: float = 0.01
    duplicates: float = 0.001
    reordered: float = 0.01
    alike: float = 0.0
    offset: float = 1000.0
    skew: float = 50e-6
    protocols: tuple[int, int] = (6, 17)
    tcp_passes: bool = True
    seed: int = 1
    truth: list[dict[str, np.ndarray]] = field(default_factory=list)

    def of_b(self, times: np.ndarray) -> np.ndarray:
        return times + self.offset + self.skew * times

    def ends(self) -> tuple[Sightings, Sightings]:
        """What both ends saw; `truth` says when each packet was sent and came (NaN: lost)."""
        rng = np.random.default_rng(self.seed)
        seen: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
        for way in (0, 1):
            drawn = rng.uniform(0, self.seconds, int(self.seconds * self.rates[way]))
            sent = np.unique(np.rint(drawn * 1e8)) / 1e8  # no two at one time, which have no order
            count = sent.size
            identity = rng.integers(0, 2**64, count, np.uint64)
            again = np.flatnonzero(rng.uniform(size=count) < self.alike)
            identity[again] = identity[np.maximum(again - 300, 0)]
            protocol = np.where(rng.uniform(size=count) < 0.5, *self.protocols).astype(np.uint8)
            delay = 0.028 + 1e-3 * rng.exponential(size=count)
            delay += (rng.uniform(size=count) < self.reordered) * 0.02
            came = np.where(rng.uniform(size=count) < self.loss, np.nan, sent + delay)
            if not self.tcp_passes:
                came[protocol == 6] = np.nan
            size = rng.integers(40, 1501, count)
            self.truth.append({"sent": sent, "came": came, "identity": identity, "size": size})
            twice = np.flatnonzero((rng.uniform(size=count) < self.duplicates) & np.isfinite(came))
            arrived = np.concatenate([np.flatnonzero(np.isfinite(came)), twice])
            at = np.concatenate([came[np.isfinite(came)], came[twice] + 0.005])
            row = (identity, size, protocol)
            seen[way].append(_records(self._clock(way, sent), SENT, np.arange(count), row))
            seen[1 - way].append(_records(self._clock(1 - way, at), CAME, arrived, row))
        one, other = (_ordered(np.concatenate(parts)) for parts in seen)
        return Sightings("one", one, 0), Sightings("other", other, 0)

    def _clock(self, end: int, times: np.ndarray) -> np.ndarray:
        return np.rint((times if end == 0 else self.of_b(times)) * 1e9 + 5e9).astype(np.uint64)


def _records(times: np.ndarray, direction: int, which: np.ndarray, row: tuple[np.ndarray, ...]) -> np.ndarray:
    records = np.zeros(times.size, RECORD)
    records["time"], records["direction"], records["flow"], records["ttl"] = times, direction, 1, 64
    for name, values in zip(("identity", "size", "protocol"), row, strict=True):
        records[name] = values[which]
    return records


def _ordered(records: np.ndarray) -> np.ndarray:
    return records[np.argsort(records["time"], kind="stable")]
