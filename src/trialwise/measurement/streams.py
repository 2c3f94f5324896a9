"""Read measurement streams from a collector's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trialwise.errors import TrialError
from trialwise.measurement.samples import Samples
from trialwise.numbers import counted

LOSSES = "_client_losses"
"""The stream in which our clients report their losses."""
INSTRUMENTATION = "_client_instrumentation"
"""The stream in which OML's clients report theirs."""
_OWN_COLUMNS = 5  # oml_tuple_id, oml_sender_id, oml_seq, oml_ts_client, oml_ts_server


@dataclass(frozen=True, slots=True)
class StreamRows:
    """The numbers of one field of a stream, by the senders' time, and how many rows held no number (NaN)."""

    samples: Samples
    empty: int


class StreamStore:
    """The streams received in one domain of a collector, in its SQLite file.

    Parameters
    ----------
    path
        ``<domain>.sq3``; it does not exist if nothing was received.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def fields(self) -> Mapping[str, tuple[str, ...]]:
        """Return the fields of every received stream, by name, without the clients' streams about themselves."""
        if not self._path.exists():
            return {}
        with closing(self._connect()) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
            streams = [name for (name,) in names if not name.startswith("_")]
            return {stream: tuple(_columns(database, stream)) for stream in streams}

    def read(self, stream: str, field: str) -> StreamRows:
        """Read the numbers of a field; times are in seconds since the first sender's start.

        Raises
        ------
        TrialError
            The stream or field does not exist, or its values are not numbers.
        """
        known = self.fields()
        if stream not in known:
            came = ", ".join(known) or "none"
            raise TrialError(
                f"no stream {stream!r} came; streams that came: {came}",
                hint="the name of a stream begins with the program's: program_point",
            )
        if field not in known[stream]:
            raise TrialError(
                f"stream {stream} has no field {field!r}", hint=f"its fields are {', '.join(known[stream])}"
            )
        with closing(self._connect()) as database:
            query = f"SELECT oml_ts_client, {_quoted(field)} FROM {_quoted(stream)} ORDER BY 1, oml_tuple_id"  # noqa: S608 quoted
            return _numbers(f"{stream}.{field}", list(database.execute(query)))

    def lost(self) -> Mapping[str, int]:
        """Return the samples and rows that clients report as lost, by stream (or "" if the client does not name it)."""
        if not self._path.exists():
            return {}
        with closing(self._connect()) as database:
            return dict(_lost(database))

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path)


def _lost(database: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    """Yield each client's last report on each stream, summed over the clients."""
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if LOSSES in tables:
        last = (
            f'SELECT "stream", MAX("samples_dropped" + "rows_dropped") AS lost FROM "{LOSSES}" '  # noqa: S608 a constant
            'GROUP BY oml_sender_id, "stream"'
        )
        yield from database.execute(f'SELECT "stream", SUM(lost) FROM ({last}) GROUP BY "stream"')  # noqa: S608 as above
    elif INSTRUMENTATION in tables:
        last = f'SELECT MAX("measurements_dropped") AS lost FROM "{INSTRUMENTATION}" GROUP BY oml_sender_id'  # noqa: S608 a constant
        for (lost,) in database.execute(f"SELECT SUM(lost) FROM ({last})"):  # noqa: S608 as above
            if lost:
                yield "", lost


def _columns(database: sqlite3.Connection, stream: str) -> list[str]:
    return [row[1] for row in database.execute(f"PRAGMA table_info({_quoted(stream)})")][_OWN_COLUMNS:]


def _numbers(name: str, rows: list[tuple[float, object]]) -> StreamRows:
    numbers = [(time, value) for time, value in rows if value is not None]
    for _, value in numbers:
        if not isinstance(value, int | float):
            raise TrialError(f"{name} is {value!r:.60}, which is not a number")
    values = np.array([value for _, value in numbers], dtype=np.float64)
    if not len(values):
        raise TrialError(f"{name} has {counted(len(rows), 'row')} and no number in them")
    if not np.isfinite(values).all():
        raise TrialError(
            f"{name} is {values[~np.isfinite(values)][0]} in one of {counted(len(values), 'row')}"
        )
    times = np.array([time for time, _ in numbers], dtype=np.float64)
    return StreamRows(Samples(values, times), len(rows) - len(numbers))


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
