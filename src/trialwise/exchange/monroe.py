"""Recordings of paths from what nodes of MONROE measured: pings (round trips) and downloads (rates).

Tables as the project's database gives them (`monroe_exp_ping`, `monroe_exp_http_download`), or a JSON object in each line, as the
nodes write them. Columns and keys have the same names, in upper or lower case: NodeId, Iccid, Timestamp (s), DataId; Rtt (ms) of a
ping, missing where no answer came; Speed (B/s, as curl counts it) and, in later versions, ErrorCode of a download.
Source: github.com/MONROE-PROJECT, Database/db_schema.cql and the readme files of Experiments/experiments/{ping,http_download}.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from trialwise.errors import AnalysisError
from trialwise.exchange.path_texts import (
    MOST_RATE,
    Found,
    Options,
    Source,
    changes,
    chosen_series,
    far_apart,
    growing,
    median_step,
    number_of,
    rows_of,
)
from trialwise.measurement.recordings import DELAY, RATE, Recording, Steps, Way
from trialwise.numbers import counted

PING, DOWNLOAD = "monroe.exp.ping", "monroe.exp.http.download"
_NOTHING = ("", "none", "null")
_MOST_TIME, _MOST_ROUND_TRIP = 1e11, 3.6e6


@dataclass(slots=True)
class _Modem:
    """What one node measured over one SIM: times (ms) with round trips (ms) and rates (bit/s), and how many came to nothing."""

    pings: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    downloads: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    unanswered: int = 0
    failed: int = 0


def monroe(texts: Sequence[Source], options: Options) -> Found:
    """Pings, downloads or both of one modem: half of the round trip each way, and the rate of the downlink."""
    if not texts:
        raise AnalysisError("no table", hint="name that of pings, of downloads, or both")
    modems: dict[str, _Modem] = {}
    others: dict[str, int] = {}
    for text in texts:
        for number, row in _rows(text):
            kind = row.get("dataid", "").lower()
            if kind not in (PING, DOWNLOAD):
                others[kind] = others.get(kind, 0) + 1
                continue
            name = f"{row.get('nodeid', '')},{row.get('iccid', '')}"
            _note(modems.setdefault(name, _Modem()), kind, text, number, row)
    names = ", ".join(text.name for text in texts)
    if not modems:
        seen = ", ".join(sorted(others)[:5]) or "nothing"
        raise AnalysisError(
            f"{names}: has no ping and no download of MONROE, but {seen}",
            hint="DataId has to be MONROE.EXP.PING or MONROE.EXP.HTTP.DOWNLOAD; other tables: trialwise trace import columns",
        )
    modem = chosen_series(names, modems, options.select, "node and SIM")
    return _recording(Source("", names), modem)


def _rows(text: Source) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield what the lines say by the names of columns, in lower case."""
    _, first = next(text.lines, (0, ""))
    if first.lstrip().startswith("{"):
        yield from ((number, _object(text, number, line)) for number, line in text.lines)
        return
    rows = rows_of(text)
    _, header = next(rows, (0, list[str]()))
    names = [name.strip().lower() for name in header]
    if not {"timestamp", "dataid", "nodeid"} <= set(names):
        raise text.wrong(1, "does not name the columns NodeId, Timestamp and DataId")
    for number, cells in rows:
        if len(cells) != len(names):
            raise text.wrong(number, f"has {len(cells)} fields, not {len(names)}")
        yield number, {name: cell.strip() for name, cell in zip(names, cells, strict=True)}


def _object(text: Source, number: int, line: str) -> dict[str, str]:
    try:
        read: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise text.wrong(number, "is no JSON object") from error
    if not isinstance(read, dict):
        raise text.wrong(number, "is no JSON object")
    pairs = cast("Mapping[str, object]", read)
    return {key.lower(): str(value) for key, value in pairs.items() if isinstance(value, str | int | float)}


def _note(modem: _Modem, kind: str, text: Source, number: int, row: Mapping[str, str]) -> None:
    time = number_of(text, number, row.get("timestamp", ""), _MOST_TIME) * 1000
    if kind == PING:
        answer = row.get("rtt", "")
        if answer.lower() in _NOTHING:
            modem.unanswered += 1
        else:
            modem.pings.append((time, number_of(text, number, answer, _MOST_ROUND_TRIP)))
    elif row.get("errorcode", "0").lower() not in (*_NOTHING, "0"):
        modem.failed += 1
    else:
        speed = number_of(text, number, row.get("speed", ""), MOST_RATE / 8)
        modem.downloads.append((time, speed * 8))


def _recording(text: Source, modem: _Modem) -> Found:
    """Return the time in which there is everything that was measured."""
    measured = {"pings": modem.pings, "downloads": modem.downloads}
    series = {what: _steps(text, values) for what, values in measured.items() if values}
    if not series:
        raise AnalysisError(f"{text.name}: no ping was answered, and no download came to its end")
    start = max(steps.times[0] for steps in series.values())
    end = min(steps.times[-1] + median_step(steps.times) for steps in series.values())
    if end <= start:
        raise AnalysisError(
            f"{text.name}: pings and downloads are not of the same time",
            hint="name one of them, or those of one run",
        )
    shared = {what: steps.within(start, end) for what, steps in series.items()}
    uplink, downlink = dict[str, Steps](), dict[str, Steps]()
    if (pings := shared.get("pings")) is not None:
        uplink[DELAY] = downlink[DELAY] = changes(pings.times, pings.values * 500)
    if (downloads := shared.get("downloads")) is not None:
        downlink[RATE] = changes(downloads.times, np.rint(downloads.values))
    gaps = [f"{what}: {said}" for what, steps in series.items() for said in far_apart(steps.times - start)]
    recording = Recording(Way(uplink), Way(downlink), float(end - start))
    return Found(recording, (*_notes(modem), *gaps))


def _notes(modem: _Modem) -> Iterator[str]:
    if modem.pings:
        yield "half a round trip of pings each way, with what they waited in queues"
    if modem.downloads:
        yield "a rate is that of a whole download: the path may carry more, and nothing is known of the time between two"
    if modem.unanswered:
        pings = counted(modem.unanswered, "ping")
        yield f"{pings} of {modem.unanswered + len(modem.pings)} had no answer: no loss is written for them"
    if modem.failed:
        yield f"{counted(modem.failed, 'download')} that failed left out"


def _steps(text: Source, values: Sequence[tuple[float, float]]) -> Steps:
    """Return values from their instants (ms since 1970) on."""
    table = np.array(sorted(values), dtype=np.float64).reshape(-1, 2)
    growing(text, table[:, 0])
    return Steps(table[:, 0], table[:, 1])
