"""Packets that one end saw: when, which way, and what identifies each wherever it is seen.

A file is a header of 64 bytes and a record of 32 bytes for each packet, all little-endian, as crates/capture writes it
(`sighting.rs`). The file of a capture that was killed may end in the middle of a record, and is read up to its last whole one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError
from trialwise.foreign_files import open_foreign

MAGIC, VERSION = b"TWSEEN\0\0", 1
HEADER = struct.Struct("<8sIIQQQQIIQ")
"""Magic, version, bytes of a record; nanoseconds of the realtime clock and of the records' clock when the file was begun, and when it
was finished (0: it was not); packets that the capture lost, steps of the realtime clock, and 0."""
RECORD = np.dtype(
    [
        ("time", "<u8"),
        ("identity", "<u8"),
        ("size", "<u4"),
        ("flow", "<u2"),
        ("direction", "u1"),
        ("ecn", "u1"),
        ("ttl", "u1"),
        ("protocol", "u1"),
        ("marks", "u1"),
        ("unused", "u1"),
        ("unused_too", "<u4"),
    ]
)
"""A packet; in words in `Sightings`."""
SENT, CAME = 0, 1
"""Directions: this end sent the packet, or it came."""
MERGED = 1
"""Mark of a packet that the capture saw in one piece with others, and stamped once."""
UNFINISHED = 2**32 - 1
"""Lost packets of a capture that never came to its end."""
MAX_BACK = 1_000_000
"""Nanoseconds by which stamps of one end may go back: processors stamp side by side."""
_LATEST = 2**62
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Sightings:
    """The packets that one end saw.

    Attributes
    ----------
    name
        The file, for messages.
    records
        In the order in which they were seen: time (nanoseconds of this end's CLOCK_MONOTONIC_RAW), identity (a hash, keyed for the
        run, of what NAT, routers and ECN marking leave alone), size (bytes of the IP packet), flow, direction, ecn, ttl,
        protocol (of IP), marks.
    lost
        Packets that the capture missed; None if it did not come to its end.
    steps
        How often the clock of the kernel's stamps was set meanwhile.
    clocks
        The realtime clock and the records' clock when the capture began, and again when it ended (0: it did not), nanoseconds.
    """

    name: str
    records: npt.NDArray[np.void]
    lost: int | None
    steps: int = 0
    clocks: tuple[int, ...] = (0, 0, 0, 0)

    def __len__(self) -> int:
        return self.records.size

    def to_realtime(self, time: int) -> float:
        """Return what the realtime clock shows more than the records' clock at a time of the latter (nanoseconds), nanoseconds.

        Along the line between both ends of the capture, since the realtime clock is slewed.

        Raises
        ------
        AnalysisError
            The capture did not come to its end, or the clock was set meanwhile.
        """
        began, began_raw, ended, ended_raw = self.clocks
        if not ended or self.steps:
            why = "the clock was set while it ran" if self.steps else "it did not come to its end"
            raise AnalysisError(f"{self.name}: the time of day of its packets is not known: {why}")
        share = (time - began_raw) / max(ended_raw - began_raw, 1)
        return (began - began_raw) + share * ((ended - ended_raw) - (began - began_raw))

    def column(self, name: str) -> npt.NDArray[np.uint64]:
        """Return one field of all records, in one piece."""
        return np.ascontiguousarray(self.records[name])


def read_sightings(path: Path, *, within: Path | None = None) -> Sightings:
    """Read the packets of one end; the records stay in the file until they are asked for.

    Parameters
    ----------
    path
        The file.
    within
        A folder that others filled, as `open_foreign` takes it.

    Raises
    ------
    AnalysisError
        The file cannot be read, is of another kind, is cut off, holds a record that no capture writes, or a clock was set back in it.
    """
    with open_foreign(path, within=within) as file:
        head = file.read(HEADER.size)
        if (
            len(head) < HEADER.size
            or head[:16] != HEADER.pack(MAGIC, VERSION, RECORD.itemsize, *[0] * 7)[:16]
        ):
            raise AnalysisError(
                f"{path}: this is not a file of packets that one end saw",
                hint=f"captures write them; version {VERSION} is read here",
            )
        *clocks, lost, steps, _ = HEADER.unpack(head)[3:]
        there, rest = divmod(path.stat().st_size - HEADER.size, RECORD.itemsize)
        if rest and lost != UNFINISHED:
            raise AnalysisError(
                f"{path}: ends in the middle of a record, although its capture came to its end",
                hint="was it copied to its end?",
            )
        records = (
            np.memmap(file, RECORD, "r", HEADER.size, (there,)) if there else np.empty(0, RECORD)  # pyright: ignore[reportCallIssue, reportArgumentType]
        )
    found = Sightings(str(path), records, None if lost == UNFINISHED else lost, steps, tuple(clocks))
    check_sightings(found)
    return found


def check_sightings(found: Sightings) -> None:
    """Reject records that no capture writes, and stamps that go back.

    Raises
    ------
    AnalysisError
        There are some.
    """
    last = 0
    for first in range(0, len(found), _AT_ONCE):
        part = found.records[first : first + _AT_ONCE]
        wrong = (
            (part["direction"] > CAME) | (part["ecn"] > 3) | (part["size"] == 0) | (part["time"] >= _LATEST)
        )
        if wrong.any():
            raise AnalysisError(
                f"{found.name}: record {first + int(wrong.argmax()) + 1} is damaged",
                hint="was the file changed or put together after it was written?",
            )
        times = np.concatenate([[last], part["time"].astype(np.int64)])
        highest = np.maximum.accumulate(times)
        back = highest - times > MAX_BACK
        if back.any():
            place = int(back.argmax())
            raise AnalysisError(
                f"{found.name}: the clock goes back by {int(highest[place] - times[place]) / 1e6:.0f} ms at record {first + place}",
                hint="stamp with a clock that is never set, such as CLOCK_MONOTONIC_RAW",
            )
        last = int(highest[-1])
