"""iperf 2's `-y C`; a file is a trial, and the row from 0.0 that is longest is the run of its stream.

Rows of nine fields tell what was sent; those of fourteen, for UDP, what the server received.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, lines_of, local_moment, matches
from trialwise.readers.records import Inside
from trialwise.readers.trial import Trial, sum_of

_ROW = re.compile(
    rf"^(?P<time>\d{{14}})(?:\.\d{{1,6}})?,(?P<stream>[0-9A-Fa-f.:%\w-]{{0,60}},\d{{0,5}},[0-9A-Fa-f.:%\w-]{{0,60}},\d{{0,5}}),(?P<id>-?\d{{1,6}}),"
    rf"(?P<begin>{NUMBER})-(?P<end>{NUMBER}),(?P<bytes>{COUNT}),(?P<rate>{NUMBER})"
    rf"(?:,(?P<jitter>{NUMBER}),(?P<lost>-?{COUNT}),(?P<datagrams>-?{COUNT}),(?P<percent>-?{NUMBER}|-?nan),(?P<order>-?{COUNT}))?$"
)
_NO_TIME = "19700101"
_SUM = "-1"
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class _Row:
    """One row; `received` are jitter in ms, datagrams lost and all datagrams: -1 of these mean that no report came.

    `ended` are Unix seconds of its end.
    """

    stream: str
    number: str
    begin: float
    end: float
    rate: float
    received: tuple[float, int, int] | None
    is_udp: bool
    ended: float | None

    @property
    def key(self) -> tuple[str, str, bool]:
        """What the rows of one stream and one side share."""
        return (self.stream, self.number, self.received is not None)


def _fits(content: Content) -> bool:
    lines = [] if content.is_binary else [line for line in content.head.split("\n")[:_LOOKED_AT] if line]
    return bool(lines) and _ROW.match(lines[0][:400]) is not None


def _read(content: Content, found: Found) -> None:
    told = list(matches(_ROW, lines_of(content)))
    if len(told) < sum(bool(line.strip()) for line in content.lines):
        found.note("partial", what="some lines are no whole rows")
    if any(row["time"].startswith(_NO_TIME) for row in told):
        found.note("time_unusable", what="they are those of 1970")
    tests = _tests([_row(each) for each in told])
    for number, rows in enumerate(tests):
        streams: dict[tuple[str, str, bool], list[_Row]] = {}
        for row in rows:
            streams.setdefault(row.key, []).append(row)
        levels = {} if len(tests) == 1 else {"process": number}
        for has_received in (False, True):
            sides = [each for (_, _, received), each in streams.items() if received is has_received]
            _add_side(found, sides, levels, has_received=has_received)


def _tests(rows: Sequence[_Row]) -> list[list[_Row]]:
    """Divide the rows of a file to which test after test was appended: streams of one test run at the same time.

    A test is over where its number stands for another connection, or where a stream begins after all others ended.
    """
    tests: list[list[_Row]] = [[]]
    connections: dict[tuple[str, bool], str] = {}
    over: float | None = None
    for row in rows:
        side = (row.number, row.received is not None)
        began = None if row.begin or row.ended is None else row.ended - row.end
        is_other = row.number != _SUM and connections.get(side, row.stream) != row.stream
        if is_other or (began is not None and over is not None and began >= over):
            tests.append([])
            connections, over = {}, None
        connections[side] = row.stream
        if row.ended is not None:
            over = row.ended if over is None else max(over, row.ended)
        tests[-1].append(row)
    return tests


def _row(told: re.Match[str]) -> _Row:
    received = None
    if told["jitter"] is not None and int(told["datagrams"]) >= 0:
        received = (float(told["jitter"]), int(told["lost"]), int(told["datagrams"]))
    return _Row(
        told["stream"],
        told["id"],
        float(told["begin"]),
        float(told["end"]),
        float(told["rate"]),
        received,
        told["jitter"] is not None,
        None if told["time"].startswith(_NO_TIME) else local_moment(told["time"], "%Y%m%d%H%M%S"),
    )


def _add_side(
    found: Found, streams: Sequence[list[_Row]], levels: Mapping[str, object], *, has_received: bool
) -> None:
    """Add the run of all streams together: the row of their sum where there is one, else the sum of their runs."""
    sums = [rows for rows in streams if rows[0].number == _SUM]
    totals = [total for rows in sums or streams if (total := _total(rows)) is not None]
    if not streams:
        return
    is_udp = any(row.is_udp for rows in streams for row in rows)
    ended = max((total.ended for total in totals if total.ended is not None), default=None)
    trial = Trial(
        found=found,
        treatment={"protocol": "UDP"} if is_udp else {},
        levels=levels,
        start=None if ended is None else ended - max(total.end for total in totals),
        end=ended,
    )
    only = (sums or streams)[0] if len(sums or streams) == 1 else []
    reason = "" if totals else "no row of the whole run"
    trial.add(
        "goodput" if has_received else "sent_rate",
        sum_of(row.rate for row in totals),
        "bit/s",
        "higher",
        reason=reason,
        samples=_intervals(only),
    )
    if not has_received:
        found.note("sender_side")
        if is_udp:
            trial.add("loss", None, "1", "lower")
        return
    _add_received(
        replace(trial, reason=reason), [total.received for total in totals if total.received is not None]
    )


def _add_received(trial: Trial, received: Sequence[tuple[float, int, int]]) -> None:
    """Add loss and jitter of all streams together."""
    known = [(lost, datagrams) for _, lost, datagrams in received if datagrams > 0 and lost >= 0]
    if known and len(known) == len(received):
        lost = sum(each for each, _ in known) / sum(each for _, each in known)
        trial.add("loss", lost, "1", "lower")
        trial.add("jitter", sum_of(jitter for jitter, _, _ in received) / len(received), "ms", "lower")
    else:
        trial.add("loss", None, "1", "lower")


def _total(rows: Sequence[_Row]) -> _Row | None:
    """Return the row from 0.0 that is longest."""
    return max((row for row in rows if row.begin == 0), key=lambda row: row.end, default=None)


def _intervals(rows: Sequence[_Row]) -> Inside | None:
    total = _total(rows) if rows else None
    kept = [row for row in rows if row is not total]
    return Inside("interval", [row.rate for row in kept], [row.begin for row in kept]) if kept else None


READERS = (
    Reader(
        name="iperf2-csv",
        tool="iperf",
        how="`iperf -y C`, printed into a file",
        replicated="file",
        unit="file",
        fits=_fits,
        read=_read,
    ),
)
