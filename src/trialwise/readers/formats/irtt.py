"""irtt's JSON (`-o`) and its text; a file is a trial, and round trips are its samples. Times are in ns."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trialwise.readers.appended import apart_at, documents_apart
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, first, lines_of, matches
from trialwise.readers.parts import Part
from trialwise.readers.records import Inside
from trialwise.readers.trial import Trial

_KINDS = {
    "rtt": "rtt",
    "send_delay": "send_delay",
    "receive_delay": "receive_delay",
    "ipdv_round_trip": "ipdv",
    "server_processing_time": "server_time",
}
_STATISTICS = {"mean": "mean", "median": "p50", "min": "min", "max": "max"}
_TEXT_KINDS = {
    "RTT": "rtt",
    "send delay": "send_delay",
    "receive delay": "receive_delay",
    "IPDV (jitter)": "ipdv",
    "server proc. time": "server_time",
}
_SIGNATURE = re.compile(r"^ *Min +Mean +Median +Max +Stddev *$", re.MULTILINE)
_BEGIN = "[Connecting] "
_DURATION = rf"{NUMBER}(?:ns|µs|us|μs|ms|s)"
_LINE = re.compile(
    rf"^ *([A-Za-z][A-Za-z. ()]{{1,40}}?) +({_DURATION}) +({_DURATION}) +(?:({_DURATION}) +)?({_DURATION}) +{_DURATION} *$"
)
_PACKETS = re.compile(rf"^ *packets (?:sent/received|received/sent): ({COUNT})/({COUNT}) ")
_TARGET = re.compile(r"^\[(\S{1,200})\] \(connect(?:ed|ing)")


def _is_json(content: Content) -> bool:
    return "irtt" in Part(content.keys)["version"] and "stats" in content.keys


def _read_json(content: Content, found: Found) -> None:
    document = Part(content.keys)
    stats = document["stats"]
    found.version = document["version"]["irtt"].text
    found.facts |= {"host": host} if (host := document["system_info"]["hostname"].text) else {}
    parameters = document["config"]["params"]
    found.options |= {
        name: parameters[name].level
        for name in ("duration", "interval", "length", "dscp")
        if parameters[name].level
    }
    trial = Trial(found=found, start=stats["start_time"].moment)
    for key, metric in _KINDS.items():
        _add_kind(trial, metric, stats[key], _samples(document) if key == "rtt" else None)
    if not stats["rtt"]["n"].number:
        trial.add("rtt_mean", None, "s", "lower", reason="no reply")
    for key, metric in (
        ("packet_loss_percent", "loss"),
        ("upstream_loss_percent", "upstream_loss"),
        ("downstream_loss_percent", "downstream_loss"),
    ):
        lost = stats[key].number
        trial.add_known(metric, None if lost is None else lost / 100, "1", "lower")
    for key in ("duplicates", "late_packets"):
        trial.add_known(key, stats[key].number, "1", "lower")
    _note_clocks(found, stats["send_delay"]["n"].number)


def _add_kind(trial: Trial, metric: str, told: Part, samples: Inside | None) -> None:
    if not told["n"].number:
        return
    for key, name in _STATISTICS.items():
        if (value := told[key].number) is not None:
            own = samples if key == "mean" else None
            trial.add(f"{metric}_{name}", value, "ns", "lower", samples=own)


def _samples(document: Part) -> Inside | None:
    """Return the round-trip times in seconds; `lost` is text, and anything but "false" means that there is none."""
    trips = [
        (trip["delay"]["rtt"].number, trip["timestamps"]["client"]["send"]["wall"].number)
        for trip in document["round_trips"].entries()
        if trip["lost"].text == "false"
    ]
    known = [(delay / 1e9, sent) for delay, sent in trips if delay is not None]
    times = [sent / 1e9 for _, sent in known if sent is not None]
    if not known:
        return None
    return Inside("round_trip", [delay for delay, _ in known], times if len(times) == len(known) else None)


def _note_clocks(found: Found, one_way: object) -> None:
    if one_way:
        found.note("one_way_needs_clocks")


def _is_text(content: Content) -> bool:
    return not content.is_binary and _SIGNATURE.search(content.head) is not None and "RTT" in content.head


def _read_text(content: Content, found: Found) -> None:
    lines, trial = lines_of(content), Trial(found=found)
    if (target := first(_TARGET, lines)) is not None:
        found.options["destination"] = target[1]
    kinds: Mapping[str, re.Match[str]] = {line[1].strip(): line for line in matches(_LINE, lines)}
    for words, metric in _TEXT_KINDS.items():
        if (line := kinds.get(words)) is not None:
            for place, name in ((2, "min"), (3, "mean"), (4, "p50"), (5, "max")):
                if line[place] is not None:
                    value = line[place].rstrip("nµuμms")
                    trial.add(f"{metric}_{name}", float(value), line[place][len(value) :], "lower")
    if "RTT" not in kinds:
        trial.add("rtt_mean", None, "s", "lower", reason="no reply")
    if (packets := first(_PACKETS, lines)) is not None and int(packets[1]):
        trial.add("loss", 1 - int(packets[2]) / int(packets[1]), "1", "lower")
    else:
        found.note("partial", what="the counts of packets are missing, and with them the loss")
    found.note("rounded", what="three digits")
    _note_clocks(found, "send delay" in kinds)


READERS = (
    Reader(
        name="irtt-json",
        tool="irtt",
        how="`irtt client -o FILE HOST`",
        replicated="file",
        unit="file",
        fits=_is_json,
        read=_read_json,
        runs=documents_apart,
    ),
    Reader(
        name="irtt-text",
        tool="irtt",
        how="`irtt client HOST`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_text,
        read=_read_text,
        runs=apart_at(_BEGIN),
    ),
)
