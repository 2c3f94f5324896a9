"""The packets of a path trial: what became of each, when and where; read from a packet log, to and from Parquet."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.arrays import Mask
from trialwise.errors import AnalysisError
from trialwise.foreign_files import open_foreign
from trialwise.foreign_parquet import values_of
from trialwise.late import pl
from trialwise.whole_files import whole_file

Direction = Literal["uplink", "downlink"]
DIRECTIONS: tuple[Direction, Direction] = ("uplink", "downlink")
"""From the sender's end outwards, and back; a direction's number is its index here."""
EVENTS = (
    "delivered",
    "held",
    "dropped:loss",
    "dropped:outage",
    "dropped:policed",
    "dropped:overflow",
    "dropped:managed",
    "dropped:corrupt",
    "dropped:filtered",
    "dropped",
    "duplicate",
    "duplicate:held",
    "duplicate:dropped",
)
"""What becomes of a packet; an event's number is its index here. "dropped" is for logs that give no cause, the last three are for
copies that the path itself made: the first of them arrived."""
DELIVERED, HELD, DROPPED, DUPLICATE = 0, 1, 9, 10
COLUMNS = ("time", "direction", "flow", "size", "event", "delay")
ECN_FIELDS = ("not-ECT", "ECT(1)", "ECT(0)", "CE", "unknown")
"""Values of the ECN field of the IP header (RFC 3168 section 5), by their bits; logs without the field give the last."""
NOT_ECT, ECT_1, ECT_0, CE, ECN_UNKNOWN = range(5)
_COPY = 128
"""In the number of a record's event: the packet is a copy."""
_CHUNK = 4_000_000
_FREE_ROWS, _ROWS_PER_BYTE = 4_000_000, 10
_LATEST = 9e9
"""Maximum time in seconds: its nanoseconds fit in 63 bits."""

_Whole = TypeVar("_Whole", np.uint16, np.uint32)
Seconds = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Packets:
    """Packets, one at each index of the arrays, ordered by time within each direction.

    Attributes
    ----------
    time
        When the packet left its link (arrived, was dropped, or was still inside at the end): seconds since the log began.
    delay
        Seconds since it arrived at the link; for a delivered packet, its one-way delay.
    direction
        Index in `DIRECTIONS`.
    flow
        Number of its flow; 0 if it belongs to none.
    size
        Bytes of the IP packet.
    event
        Index in `EVENTS`.
    ecn
        Index in `ECN_FIELDS`: the field that it left with; unknown unless given.
    """

    time: Seconds
    delay: Seconds
    direction: npt.NDArray[np.uint8]
    flow: npt.NDArray[np.uint16]
    size: npt.NDArray[np.uint32]
    event: npt.NDArray[np.uint8]
    ecn: npt.NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))

    def __post_init__(self) -> None:
        if self.time.size and not self.ecn.size:
            object.__setattr__(self, "ecn", np.full(self.time.size, ECN_UNKNOWN, np.uint8))
        if len({array.size for array in self._arrays()}) > 1:
            raise ValueError("the columns of packets differ in length")

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [getattr(self, each.name) for each in fields(self)]

    def __len__(self) -> int:
        return self.time.size

    @property
    def arrival(self) -> Seconds:
        """When each packet arrived at its link: seconds since the log began."""
        return self.time - self.delay

    @property
    def delivered(self) -> Mask:
        """Which packets arrived at the other end."""
        return self.event == DELIVERED

    @property
    def held(self) -> Mask:
        """Which packets were still inside at the end."""
        return self.event == HELD

    @property
    def dropped(self) -> Mask:
        """Which packets were dropped, for whatever cause."""
        return (self.event > HELD) & (self.event <= DROPPED)

    @property
    def copies(self) -> Mask:
        """Which are copies of packets that the path made, whatever became of them: in no other count."""
        return self.event >= DUPLICATE

    def originals(self) -> Packets:
        """Return the packets without the copies that the path made."""
        copies = self.copies
        return self.where(~copies) if copies.any() else self

    def where(self, mask: Mask) -> Packets:
        """Return the packets for which the mask is true."""
        return Packets(*(array[mask] for array in self._arrays()))

    def of(
        self,
        direction: Direction | None = None,
        flow: int | None = None,
        start: float = -np.inf,
        stop: float = np.inf,
    ) -> Packets:
        """Return the packets of one direction and one flow whose time lies in [start, stop); each filter is optional."""
        mask = (self.time >= start) & (self.time < stop)
        if direction is not None:
            mask &= self.direction == DIRECTIONS.index(direction)
        if flow is not None:
            mask &= self.flow == flow
        return self.where(mask)

    def flows(self) -> list[int]:
        """Return the flow numbers that occur, in ascending order, including 0 if packets belong to no flow."""
        return cast("list[int]", np.unique(self.flow).tolist())


def joined(parts: Sequence[Packets]) -> Packets:
    """Concatenate the packets of several parts."""
    names = [each.name for each in fields(Packets)]
    return Packets(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def read_packet_log(path: Path, flow_of_port: Mapping[int, int] | None = None) -> Packets:
    """Read the emulator's packet log; a truncated last record is ignored.

    All of it is held in memory, 25 bytes per packet (1 Gbit/s for a minute: 10 million packets, 250 MB).

    Parameters
    ----------
    path
        The log.
    flow_of_port
        The number of the flow that a port belongs to. A packet belongs to the flow of its lower port, else to that of its
        higher one, else to flow 0.

    Raises
    ------
    AnalysisError
        The file cannot be read or is not a packet log.
    """
    flow_of = _flow_table(flow_of_port or {})
    parts: list[Packets] = []
    while not parts or len(parts[-1]) == _CHUNK:
        columns = _columns(path, len(parts) * _CHUNK)
        _check_records(path, columns, len(parts) * _CHUNK)
        parts.append(_packets(columns, flow_of))
    return joined(parts)


def simulated_packets(columns: _core.PacketColumns, numbers: Sequence[int]) -> Packets:
    """Return the packets of a simulated path; `numbers` are those of its flows, which the simulator counts from 1."""
    return _packets(columns, _flow_table(dict(enumerate(numbers, 1))))


def packet_log_start(path: Path) -> int:
    """Return the start of a packet log: nanoseconds of the realtime clock since the epoch.

    Raises
    ------
    AnalysisError
        The file cannot be read or is not a packet log.
    """
    return _columns(path, 0, most=0).made_ns


def _flow_table(flow_of_port: Mapping[int, int]) -> npt.NDArray[np.uint16]:
    table = np.zeros(65536, np.uint16)
    for port, flow in flow_of_port.items():
        table[port] = flow
    return table


def _columns(path: Path, skip: int, most: int = _CHUNK) -> _core.PacketColumns:
    try:
        return _core.read_packet_log(path, skip=skip, most=most)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {os.strerror(error.errno or 0)}") from error
    except ValueError as error:
        hint = "packet logs are written by `trialwise path --log FILE` and by trials of kind path"
        raise AnalysisError(f"{path}: {error}", hint=hint) from error


def _check_records(path: Path, columns: _core.PacketColumns, skipped: int) -> None:
    """Reject records that no emulator writes."""
    wrong = np.maximum(columns.time_ns, columns.delay_ns) > _LATEST * 1e9
    wrong |= (columns.event % _COPY >= DROPPED) | (columns.direction >= len(DIRECTIONS))
    if wrong.any():
        raise AnalysisError(
            f"{path}: record {skipped + int(wrong.argmax()) + 1} is damaged",
            hint="was the file changed or put together after it was written?",
        )


def _packets(columns: _core.PacketColumns, flow_of: npt.NDArray[np.uint16]) -> Packets:
    lower = flow_of[columns.flow & 0xFFFF]
    higher = flow_of[columns.flow >> 16 & 0xFFFF]
    return Packets(
        time=columns.time_ns / 1e9,
        delay=columns.delay_ns / 1e9,
        direction=columns.direction,
        flow=np.where(lower == 0, higher, lower),
        size=columns.size.astype(np.uint32),
        event=_events(columns.event),
        ecn=columns.ecn,
    )


def _events(numbers: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return events by those of records, which tell of each copy why it was dropped."""
    copies = DUPLICATE + np.minimum(numbers % _COPY, 2)
    return np.where(numbers >= _COPY, copies, numbers).astype(np.uint8)


def write_packets(path: Path, packets: Packets) -> None:
    """Write packets as Parquet: columns `COLUMNS`, times and delays in seconds, directions and events as text; ecn where it is known.

    Raises
    ------
    StoreError
        The file cannot be written.
    """
    with whole_file(path) as aside:
        _write_frame(packets, aside)


def packed_packets(packets: Packets) -> bytes:
    """Return the content of the file that `write_packets` writes."""
    packed = io.BytesIO()
    _write_frame(packets, packed)
    return packed.getvalue()


def _write_frame(packets: Packets, to: Path | io.BytesIO) -> None:
    _frame(packets).write_parquet(to, compression="zstd", compression_level=1)


def _frame(packets: Packets) -> pl.DataFrame:

    return pl.DataFrame(
        {
            "time": packets.time,
            "direction": _words(packets.direction, DIRECTIONS),
            "flow": packets.flow,
            "size": packets.size,
            "event": _words(packets.event, EVENTS),
            "delay": packets.delay,
        }
        | ({"ecn": _words(packets.ecn, ECN_FIELDS)} if (packets.ecn != ECN_UNKNOWN).any() else {})
    )


def _words(numbers: npt.NDArray[np.uint8], words: Sequence[str]) -> pl.Series:

    return pl.Series(numbers).replace_strict(range(len(words)), words, return_dtype=pl.Enum(list(words)))


def read_packets(path: Path, *, within: Path | None = None) -> Packets:
    """Read packets written by `write_packets`, or by other programs with the same columns.

    `within` is a folder that others filled, as `open_foreign` takes it.

    Raises
    ------
    AnalysisError
        The file cannot be read, lacks a column, or has an unknown direction or event.
    """
    from trialwise.foreign_frames import library_errors

    try:
        with library_errors(path):
            _check_rows(path, within)
            more = ["ecn"] if "ecn" in pl.read_parquet_schema(path) else []
            frame = pl.read_parquet(path, columns=[*COLUMNS, *more], glob=False)
            return Packets(
                time=_finite(frame["time"]),
                delay=_finite(frame["delay"]),
                direction=_numbers(frame["direction"], DIRECTIONS),
                flow=_whole(frame["flow"], np.uint16),
                size=_whole(frame["size"], np.uint32),
                event=_numbers(frame["event"], EVENTS),
                **({"ecn": _numbers(frame["ecn"], ECN_FIELDS)} if more else {}),
            )
    except AnalysisError as error:
        hint = f"packets as Parquet have the columns {', '.join(COLUMNS)}"
        raise AnalysisError(error.message, hint=hint) from error


def _check_rows(path: Path, within: Path | None) -> None:
    """Reject more rows than a file of this size can hold of packets: a constant column takes no space at all."""
    with open_foreign(path, within=within) as file:
        rows = values_of(file)
        if rows > max(_FREE_ROWS, _ROWS_PER_BYTE * path.stat().st_size):
            raise ValueError(f"it says to hold {rows} packets, more than its bytes can")


def _whole(column: pl.Series, kind: type[_Whole]) -> npt.NDArray[_Whole]:

    if column.has_nulls():
        raise ValueError(f"column {column.name} lacks a value")
    return column.cast(pl.UInt16 if kind is np.uint16 else pl.UInt32).to_numpy().astype(kind, copy=False)


def _finite(column: pl.Series) -> Seconds:

    values = column.cast(pl.Float64).to_numpy()
    if not np.isfinite(values).all() or (np.abs(values) > _LATEST).any():
        raise ValueError(f"column {column.name} has a value that is not a time in seconds")
    return values


def _numbers(column: pl.Series, words: Sequence[str]) -> npt.NDArray[np.uint8]:

    if column.has_nulls():
        raise ValueError(f"column {column.name} lacks a value")
    return column.cast(pl.Enum(list(words))).to_physical().cast(pl.UInt8).to_numpy()
