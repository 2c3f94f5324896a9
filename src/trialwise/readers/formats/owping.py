"""What owping and owstats print (`owping(1)`): text, `-M` and `-R`; a session is one direction of one trial.

Median and percentiles come from a histogram with buckets of the width that `-b` asks for. They count packets that were lost as late
without end, so that there may be none although packets arrived. Where `-N` divides a session, its parts are repetitions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, first, lines_of, matches, number
from trialwise.readers.records import Inside
from trialwise.readers.trial import Trial, add_requests, mean
from trialwise.readers.units import normalised

_BEGIN = re.compile(
    r"^--- owping statistics from \[?(\S{1,200}?)\]?(?::\d+)? to \[?(\S{1,200}?)\]?(?::\d+)? ---",
    re.MULTILINE,
)
_DELAY_OF_ONE = rf"(-?{NUMBER}(?:e[-+]\d{{1,3}})?|-?nan)"
_UNIT = "(ms|us|s|ns|)"
"""Seconds have no name in what owping prints."""
_SESSION = re.compile(r"^SID:\t(\S{1,100})")
_COUNTS = re.compile(rf"^({COUNT}) sent, ({COUNT}) lost \({NUMBER}%\), ({COUNT}) duplicates")
_DELAY = re.compile(
    rf"^one-way delay min/median/max = {_DELAY_OF_ONE}/{_DELAY_OF_ONE}/{_DELAY_OF_ONE} {_UNIT}(?:,|$)"
)
_JITTER = re.compile(rf"^one-way jitter = {_DELAY_OF_ONE} {_UNIT} \(P95-P50\)")
_PERCENTILE = re.compile(rf"^\t({NUMBER}): {_DELAY_OF_ONE} {_UNIT} *$")
_PACKET = re.compile(rf"^seq_no={COUNT} +delay={_DELAY_OF_ONE} {_UNIT}\t")
_MACHINE = re.compile(r"^(SUMMARY|FROM_HOST)\t", re.MULTILINE)
_PAIR = re.compile(r"^([A-Z][A-Z0-9_]{1,40})\t(.{0,200})$")
_TIME = r"(\d{1,20})"
_RAW = re.compile(rf"^({COUNT}) {_TIME} ([01]) (\S{{1,30}}) {_TIME} ([01]) (\S{{1,30}}) ({COUNT})$")
_ABOUT = re.compile(r"^(?:owping|owstats|Approximately)\b|^$")
"""Lines about the clock and about the time that remains, which may stand before the results."""
_FRACTION = 1 << 32
_EPOCH = 2208988800
"""Seconds from the epoch of NTP to that of Unix."""
_LOOKED_AT = 20


def _is_text(content: Content) -> bool:
    return not content.is_binary and _BEGIN.search(content.head) is not None


def _read_text(content: Content, found: Found) -> None:
    sessions: list[list[str]] = []
    for line in lines_of(content):
        if _BEGIN.match(line) and not (sessions and _continues(sessions[-1])):
            sessions.append([])
        if sessions:
            sessions[-1].append(line)
    names = [told[1] if (told := first(_SESSION, lines)) else str(at) for at, lines in enumerate(sessions)]
    for lines, levels in zip(sessions, _parts(found, names), strict=True):
        _add_session(found, lines, levels)
    _note(found)


def _continues(lines: Sequence[str]) -> bool:
    """Return True if lines hold the packets of a session (`-v`), whose summary has a heading of its own."""
    return first(_PACKET, lines) is not None and first(_COUNTS, lines) is None


def _parts(found: Found, sessions: Sequence[str]) -> list[dict[str, object]]:
    """Return the levels of each summary: its number if its session has several (`-N`)."""
    total, seen = Counter(sessions), Counter[str]()
    if any(n > 1 for n in total.values()):
        found.replicated, found.unit = "repetition", "part of a session (one process)"
        found.note("within_process")
    levels: list[dict[str, object]] = []
    for name in sessions:
        levels.append({"repetition": seen[name]} if total[name] > 1 else {})
        seen[name] += 1
    return levels


def _note(found: Found) -> None:
    found.note("one_way_needs_clocks")
    found.note("rounded", what="the buckets of owping's histogram (`-b`), which has the median and jitter")


def _add_session(found: Found, lines: Sequence[str], levels: Mapping[str, object]) -> None:
    begin, counts, delay, jitter = (first(each, lines) for each in (_BEGIN, _COUNTS, _DELAY, _JITTER))
    hosts = {} if begin is None else {"from": begin[1], "to": begin[2]}
    trial = Trial(found=found, treatment=hosts, levels=levels)
    packets = [_seconds(each[1], each[2]) for each in matches(_PACKET, lines)]
    told = None if counts is None else [int(count) for count in counts.groups()]
    values = [None] * 3 if delay is None else [_seconds(each, delay[4]) for each in delay.groups()[:3]]
    _add_delays(trial, values, told)
    if packets and told is not None and len(packets) == told[0] - told[1] + told[2]:
        known = [each for each in packets if each is not None]
        trial.add("delay_mean", mean(known), "s", "lower", samples=Inside("packet", known))
    for percentile in matches(_PERCENTILE, lines):
        if (asked := float(percentile[1])) != 50 and told is not None:
            trial.add_quantile("delay", asked, _seconds(percentile[2], percentile[3]), "s", told[0])
    if jitter is not None:
        trial.add_known("jitter", _seconds(jitter[1], jitter[2]), "s", "lower")
    _add_loss(trial, told)


def _seconds(told: str, unit: str) -> float | None:
    value = number(told)
    return None if value is None or not isfinite(value) else normalised(value, unit or "s")[0]


def _add_delays(trial: Trial, values: Sequence[float | None], counts: Sequence[int] | None) -> None:
    """Add the least, the median and the largest delay, in seconds; a delay without value has a reason."""
    lost = "no packet arrived"
    if counts is None:
        lost = "it ended before its summary"
    elif any(value is not None for value in values):
        lost = "half of the packets or more were lost, so that there is no median"
    for metric, value in zip(("delay_min", "delay_p50", "delay_max"), values, strict=True):
        if value is not None or metric == "delay_p50":
            trial.add(metric, value, "s", "lower", reason="" if value is not None else lost)


def _add_loss(trial: Trial, counts: Sequence[int] | None) -> None:
    if counts is None or not counts[0]:
        trial.found.note("partial", what="the counts of packets are missing, and with them the loss")
        return
    trial.add("loss", counts[1] / counts[0], "1", "lower")
    trial.add("duplicates", counts[2], "1", "lower")


def _is_machine(content: Content) -> bool:
    return not content.is_binary and _MACHINE.search(content.head) is not None and "\nSENT\t" in content.head


def _read_machine(content: Content, found: Found) -> None:
    """Read `-M`: a key, a tab and a value on each line; delays are in seconds."""
    lines = lines_of(content)
    begin = next(told[1] for line in lines if (told := _MACHINE.match(line)))
    sessions: list[list[str]] = []
    for line in lines:
        if line.startswith(f"{begin}\t"):
            sessions.append([])
        if sessions:
            sessions[-1].append(line)
    summaries = [{pair[1]: pair[2].strip() for pair in matches(_PAIR, each)} for each in sessions]
    names = [told.get("SID", str(at)) for at, told in enumerate(summaries)]
    for told, levels in zip(summaries, _parts(found, names), strict=True):
        _add_summary(found, told, levels)
    _note(found)


def _add_summary(found: Found, told: Mapping[str, str], levels: Mapping[str, object]) -> None:
    hosts = {"from": told.get("FROM_HOST", ""), "to": told.get("TO_HOST", "")}
    trial = Trial(
        found=found,
        treatment={name: host for name, host in hosts.items() if host},
        levels=levels,
        start=_unix(told.get("START_TIME", "")),
        end=_unix(told.get("END_TIME", "")),
    )
    counts = [number(told.get(key, "")) for key in ("SENT", "LOST", "DUPS")]
    whole = [int(count) for count in counts if count is not None and abs(count) < 1e18]
    known = whole if len(whole) == len(counts) else None
    _add_delays(trial, [_seconds(told.get(key, ""), "s") for key in ("MIN", "MEDIAN", "MAX")], known)
    trial.add_known("jitter", _seconds(told.get("PDV", ""), "s"), "s", "lower")
    _add_loss(trial, known)


def _unix(told: str) -> float | None:
    """Return Unix seconds of a time in NTP's fixed point; None if it is none."""
    return int(told) / _FRACTION - _EPOCH if re.fullmatch(_TIME, told) and int(told) else None


def _is_raw(content: Content) -> bool:
    if content.is_binary:
        return False
    lines = [line for line in content.head.split("\n")[:_LOOKED_AT] if not _ABOUT.match(line)]
    return bool(lines) and all(map(_RAW.match, lines[:-1] or lines)) and _RAW.match(lines[0]) is not None


def _read_raw(content: Content, found: Found) -> None:
    """Read `-R`: a line a packet, with its times in NTP's fixed point; one that arrived at 0 was lost.

    A packet that stands twice was duplicated, unless it was sent at another time: then it begins the session of the other direction.
    """
    sessions: list[dict[int, list[tuple[int, int]]]] = [{}]
    for packet in matches(_RAW, lines_of(content)):
        at, sent, received = int(packet[1]), int(packet[2]), int(packet[5])
        if at in sessions[-1] and sessions[-1][at][0][0] != sent:
            sessions.append({})
        sessions[-1].setdefault(at, []).append((sent, received))
    for place, packets in enumerate(sessions, 1):
        trial = Trial(found=found, treatment={} if len(sessions) == 1 else {"session": place})
        _add_packets(trial, packets.values())
    found.note("one_way_needs_clocks")


def _add_packets(trial: Trial, packets: Iterable[Sequence[tuple[int, int]]]) -> None:
    """Add the delays of the packets of a session, of which each was sent and received once or several times."""
    all_packets = list(packets)
    arrived = [times for copies in all_packets for times in copies if times[1]]
    if arrived:
        delays = [(received - sent) / _FRACTION for sent, received in arrived]
        add_requests(trial, "delay", delays, [sent / _FRACTION - _EPOCH for sent, _ in arrived])
    else:
        trial.add("delay_mean", None, "s", "lower", reason="no packet arrived")
    lost = sum(not any(received for _, received in copies) for copies in all_packets)
    trial.add("loss", lost / len(all_packets) if all_packets else None, "1", "lower")


READERS = (
    Reader(
        name="owping-text",
        tool="owping",
        how="`owping HOST` or `owstats FILE`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_text,
        read=_read_text,
    ),
    Reader(
        name="owping-machine",
        tool="owping",
        how="`owstats -M FILE`",
        replicated="file",
        unit="file",
        fits=_is_machine,
        read=_read_machine,
    ),
    Reader(
        name="owping-raw",
        tool="owping",
        how="`owstats -R FILE`",
        replicated="file",
        unit="file",
        fits=_is_raw,
        read=_read_raw,
    ),
)
