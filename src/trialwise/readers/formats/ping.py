"""What ping prints (iputils, BusyBox, BSD), and fping; a file is a trial, and replies are its samples."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, first, lines_of, matches, runs
from trialwise.readers.records import Inside
from trialwise.readers.trial import Trial, add_quantiles, mean

_SIGNATURE = re.compile(r"^PING ([^\s(]{1,300})[ (]", re.MULTILINE)
_REPLY = re.compile(
    rf"^(?:\[({NUMBER})\] )?{COUNT} bytes from .*?seq=({COUNT}) .*?time=({NUMBER}) ms( \(DUP!\))?"
)
_LOST = re.compile(rf"^({COUNT}) packets transmitted, ({COUNT}) (?:packets )?received\b")
_SUMMARY = re.compile(
    rf"^(?:rtt|round-trip) min/avg/max(?:/(?:mdev|stddev))? = ({NUMBER})/({NUMBER})/({NUMBER})"
)
_FPING = re.compile(r"^(\S{1,300}) +: ((?:\d{1,9}\.\d{1,9}|-)(?: (?:\d{1,9}\.\d{1,9}|-))*) ?$")
_PROBE = re.compile(
    rf"^(?:\[{NUMBER}\] )?(\S{{1,300}}) +: \[{COUNT}\], (?:{COUNT} bytes, ({NUMBER}) ms|timed out)"
)
_COUNTED = re.compile(
    rf"^(\S{{1,300}}) +: xmt/rcv/%loss = ({COUNT})/({COUNT})/{NUMBER}%(?:, min/avg/max = ({NUMBER})/({NUMBER})/({NUMBER}))?$"
)
_LOOKED_AT = 20


def _is_ping(content: Content) -> bool:
    return not content.is_binary and _SIGNATURE.search(content.head) is not None


def _read_ping(content: Content, found: Found) -> None:
    for lines, levels in runs(content, _SIGNATURE):
        _add_run(found, lines, levels)


def _add_run(found: Found, lines: list[str], levels: dict[str, object]) -> None:
    named = _SIGNATURE.match(lines[0])
    replies = list(matches(_REPLY, lines))
    values = [float(reply[3]) / 1000 for reply in replies if not reply[4]]
    times = [float(reply[1]) for reply in replies if reply[1] and not reply[4]]
    trial = Trial(
        found=found,
        treatment={"destination": named[1].removesuffix(":") if named else ""},
        levels=levels,
        start=times[0] if times else None,
        end=times[-1] if times else None,
    )
    counts, summary = first(_LOST, lines), first(_SUMMARY, lines)
    if values:
        _add_delays(trial, values, times if len(times) == len(values) else None)
    elif summary is not None:
        for metric, told in zip(("rtt_min", "rtt_mean", "rtt_max"), summary.groups(), strict=True):
            trial.add(metric, float(told), "ms", "lower")
    else:
        reason = "no reply" if counts is not None else "it ended before its summary"
        trial.add("rtt_mean", None, "s", "lower", reason=reason)
    if counts is not None:
        sent, received = int(counts[1]), int(counts[2])
        trial.add("loss", 1 - received / sent if sent else None, "1", "lower")
    else:
        found.note("partial", what="the summary is missing, and with it the loss")


def _add_delays(trial: Trial, values: Sequence[float], times: Sequence[float] | None) -> None:
    trial.add("rtt_mean", mean(values), "s", "lower", samples=Inside("reply", values, times))
    trial.add("rtt_min", min(values), "s", "lower")
    trial.add("rtt_max", max(values), "s", "lower")
    add_quantiles(trial, "rtt", values, "s")


def _is_fping(content: Content) -> bool:
    lines = [] if content.is_binary else [line for line in content.head.split("\n")[:_LOOKED_AT] if line]
    return bool(lines) and (
        all(map(_FPING.match, lines))
        or _PROBE.match(lines[0]) is not None
        or _COUNTED.match(lines[0]) is not None
    )


def _read_fping(content: Content, found: Found) -> None:
    """Read the replies of each host: from a line of each probe, else from the line of all that `-C` adds."""
    lines = lines_of(content)
    if _COUNTED.match(next(filter(None, lines), "")):
        for told in matches(_COUNTED, lines):
            _add_counted(found, told)
        return
    hosts: dict[str, list[float | None]] = {}
    for probe in matches(_PROBE, lines):
        hosts.setdefault(probe[1], []).append(None if probe[2] is None else float(probe[2]) / 1000)
    if not hosts:
        for told in matches(_FPING, lines):
            replies = told[2].split()
            hosts.setdefault(told[1], []).extend(
                None if each == "-" else float(each) / 1000 for each in replies
            )
    for host, replies in hosts.items():
        trial = Trial(found=found, treatment={"destination": host})
        values = [reply for reply in replies if reply is not None]
        if values:
            _add_delays(trial, values, None)
        else:
            trial.add("rtt_mean", None, "s", "lower", reason="no reply")
        trial.add("loss", 1 - len(values) / len(replies), "1", "lower")


def _add_counted(found: Found, told: re.Match[str]) -> None:
    """Add what `-q -c` prints of a host."""
    trial = Trial(found=found, treatment={"destination": told[1]})
    sent, received = int(told[2]), int(told[3])
    if told[5] is None:
        trial.add("rtt_mean", None, "s", "lower", reason="no reply")
    else:
        for metric, place in (("rtt_min", 4), ("rtt_mean", 5), ("rtt_max", 6)):
            trial.add(metric, float(told[place]), "ms", "lower")
    trial.add("loss", 1 - received / sent if sent else None, "1", "lower")


READERS = (
    Reader(
        name="ping-text",
        tool="ping",
        how="`ping -D HOST`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_ping,
        read=_read_ping,
    ),
    Reader(
        name="fping-text",
        tool="fping",
        how="`fping -C 10 -q HOST`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_fping,
        read=_read_fping,
    ),
)
