"""Packet logs as the emulator writes them, made by hand (crates/emulator/src/log.rs)."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from trialwise.measurement.packets import Packets

RECORD = np.dtype(
    [
        ("time", "<u8"),
        ("delay", "<u8"),
        ("flow", "<u8"),
        ("lateness", "<u4"),
        ("size", "<u2"),
        ("event", "u1"),
        ("rest", "u1"),
    ]
)
MADE = 1_795_256_094_227_000_000


def write_log(path: Path, records: np.ndarray, tail: bytes = b"") -> Path:
    """Write records, and then perhaps a part of one."""
    path.write_bytes(struct.pack("<8sIIQQ", b"TWPACKET", 1, 32, MADE, 0) + records.tobytes() + tail)
    return path


def flow_word(higher: int, lower: int) -> int:
    """The flow of a TCP packet between two ports."""
    return 0xABCD << 48 | 6 << 32 | higher << 16 | lower


def random_packets(seed: int, count: int = 500, flows: int = 3, *, span: float = 10.0) -> Packets:
    """Packets of both directions with all kinds of events, on whole microseconds."""
    rng = np.random.default_rng(seed)
    arrival = rng.integers(0, int(span * 1e6), count)
    delay = rng.integers(28_000, 120_000, count)
    order = np.argsort(arrival + delay, kind="stable")
    return Packets(
        time=(arrival + delay)[order] / 1e6,
        delay=delay[order] / 1e6,
        direction=rng.integers(0, 2, count).astype(np.uint8),
        flow=rng.integers(0, flows + 1, count).astype(np.uint16),
        size=rng.integers(40, 1501, count).astype(np.uint32),
        event=rng.choice([0, 0, 0, 0, 1, 2, 5, 6], count).astype(np.uint8),
    )
