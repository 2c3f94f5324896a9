"""What owping and owstats print (`owping(1)`): text, `-M` and `-R`; a session is one direction of one trial.

Median and percentiles come from a histogram with buckets of the width that `-b` asks for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, first, lines_of, matches, number, numbered
from trialwise.readers.trial import Trial, add_requests

_BEGIN = re.compile(
    r"^--- owping statistics from \[?(\S{1,200}?)\]?(?::\d+)? to \[?(\S{1,200}?)\]?(?::\d+)? ---",
    re.MULTILINE,
)
_COUNTS = re.compile(rf"^({COUNT}) sent, ({COUNT}) lost \({NUMBER}%\), ({COUNT}) duplicates")
_DELAY = re.compile(
    rf"^one-way delay min/median/max = (-?{NUMBER}|nan)/(-?{NUMBER}|nan)/(-?{NUMBER}|nan) (ms|us|s|ns)\b"
)
_JITTER = re.compile(rf"^one-way jitter = (-?{NUMBER}) (ms|us|s|ns) \(P95-P50\)")
_MACHINE = re.compile(r"^(SUMMARY\t|FROM_HOST\t)", re.MULTILINE)
_PAIR = re.compile(r"^([A-Z][A-Z0-9_]{1,40})\t(.{0,200})$")
_RAW = re.compile(rf"^({COUNT}) ({COUNT}) ([01]) (\S{{1,30}}) ({COUNT}) ([01]) (\S{{1,30}}) ({COUNT})$")
_FRACTION = 1 << 32
_EPOCH = 2208988800
"""Seconds from the epoch of NTP to that of Unix."""
_LOOKED_AT = 20


def _is_text(content: Content) -> bool:
    return not content.is_binary and _BEGIN.search(content.head) is not None


def _read_text(content: Content, found: Found) -> None:
    sessions: list[list[str]] = []
    for line in lines_of(content):
        if _BEGIN.match(line):
            sessions.append([])
        if sessions:
            sessions[-1].append(line)
    for lines in sessions:
        _add_session(found, lines)
    found.note("one_way_needs_clocks")


def _add_session(found: Found, lines: Sequence[str]) -> None:
    begin, counts, delay, jitter = (first(each, lines) for each in (_BEGIN, _COUNTS, _DELAY, _JITTER))
    trial = Trial(found=found, treatment={} if begin is None else {"from": begin[1], "to": begin[2]})
    known = None if delay is None else [number(told) for told in delay.groups()[:3]]
    if delay is None or known is None or counts is None or int(counts[1]) <= int(counts[2]):
        reason = "it ended before its summary" if counts is None else "no packet arrived"
        trial.add("delay_p50", None, "s", "lower", reason=reason)
    else:
        for metric, value in zip(("delay_min", "delay_p50", "delay_max"), known, strict=True):
            trial.add(metric, value, delay[4], "lower")
    if jitter is not None:
        trial.add("jitter", float(jitter[1]), jitter[2], "lower")
    _add_loss(trial, None if counts is None else [int(count) for count in counts.groups()])


def _add_loss(trial: Trial, counts: Sequence[int] | None) -> None:
    if counts is None or not counts[0]:
        trial.found.note("partial", what="the counts of packets are missing, and with them the loss")
        return
    trial.add("loss", counts[1] / counts[0], "1", "lower")
    trial.add("duplicates", counts[2], "1", "lower")


def _is_machine(content: Content) -> bool:
    return not content.is_binary and _MACHINE.match(content.head) is not None and "\nSENT\t" in content.head


def _read_machine(content: Content, found: Found) -> None:
    """Read `-M`: a key, a tab and a value on each line; delays are in seconds."""
    sessions: list[list[str]] = []
    for line in lines_of(content):
        if line.startswith("SUMMARY\t") or not sessions:
            sessions.append([])
        sessions[-1].append(line)
    for lines, levels in numbered(sessions):
        told = {pair[1]: pair[2].strip() for pair in matches(_PAIR, lines)}
        hosts = {"from": told.get("FROM_HOST", ""), "to": told.get("TO_HOST", "")}
        trial = Trial(
            found=found, treatment={name: host for name, host in hosts.items() if host}, levels=levels
        )
        if number(told.get("MEDIAN", "")) is None:
            trial.add("delay_p50", None, "s", "lower", reason="no packet arrived")
        for key, metric in (("MIN", "delay_min"), ("MEDIAN", "delay_p50"), ("MAX", "delay_max")):
            trial.add_known(metric, number(told.get(key, "")), "s", "lower")
        counts = [number(told.get(key, "")) for key in ("SENT", "LOST", "DUPS")]
        whole = [int(count) for count in counts if count is not None and abs(count) < 1e18]
        _add_loss(trial, whole if len(whole) == len(counts) else None)
    found.note("one_way_needs_clocks")


def _is_raw(content: Content) -> bool:
    lines = [] if content.is_binary else [line for line in content.head.split("\n")[:_LOOKED_AT] if line]
    return bool(lines) and all(map(_RAW.match, lines[:-1] or lines)) and _RAW.match(lines[0]) is not None


def _read_raw(content: Content, found: Found) -> None:
    """Read `-R`: a line a packet, with its times in NTP's fixed point; one that arrived at 0 was lost."""
    packets = list(matches(_RAW, lines_of(content)))
    arrived = [(int(packet[2]), int(packet[5])) for packet in packets if int(packet[5])]
    trial = Trial(found=found)
    if arrived:
        delays = [(received - sent) / _FRACTION for sent, received in arrived]
        add_requests(trial, "delay", delays, [sent / _FRACTION - _EPOCH for sent, _ in arrived])
    else:
        trial.add("delay_mean", None, "s", "lower", reason="no packet arrived")
    numbers = {int(packet[1]) for packet in packets}
    lost = numbers - {int(packet[1]) for packet in packets if int(packet[5])}
    trial.add("loss", len(lost) / len(numbers) if numbers else None, "1", "lower")
    found.note("one_way_needs_clocks")


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
