"""iperf3's `-J` and `--json-stream` (`iperf_api.c`); a file is a trial, and the sum over streams is its value.

The direction is told by the key (`sum`, `sum_bidir_reverse`), never by the field `sender`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.names import pairs, repetition_of
from trialwise.readers.parts import Part
from trialwise.readers.records import Inside
from trialwise.readers.trial import Trial, mean

_OPTIONS = (
    "protocol", "num_streams", "blksize", "duration", "bytes", "omit", "reverse", "bidir", "target_bitrate", "tos",
)  # fmt: skip
_REVERSE = "_bidir_reverse"
_OVERLAP = 1e-6
"""Seconds by which an interval may begin before the end of the one before; its times have this resolution."""
_PART = 0.1
"""Part of an interval by which its times may be wrong, and within which the first one begins.

In newer versions, times count from 0 again after the intervals that are omitted.
"""


def _is_document(content: Content) -> bool:
    keys = content.keys
    return "start" in keys and "intervals" in keys and _is_iperf3(Part(keys)["start"])


def _is_stream(content: Content) -> bool:
    """Return True for the event that a test began, or for the error of one that did not begin."""
    if not {"event", "data"} <= content.keys.keys():
        return False
    event = Part(content.keys)
    is_error = len(content.keys) == 2 and event["event"].text == "error" and bool(event["data"].text)
    return is_error or _is_iperf3(event["data"])


def _is_iperf3(start: Part) -> bool:
    return start["version"].text.startswith("iperf 3")


def _read_documents(content: Content, found: Found) -> None:
    """Read each test of the file: a server writes one after another, and some versions write the same twice."""
    tests: dict[str, Part] = {}
    documents = content.documents
    for number, document in enumerate(map(Part, documents.whole)):
        if _is_iperf3(document["start"]):
            tests[document["start"]["cookie"].text or str(number)] = document
    if len(tests) < len(documents.whole):
        found.note("superseded_documents", n=len(documents.whole) - len(tests))
    if documents.is_cut:
        found.note("partial", what="the last document has no end")
    for number, test in enumerate(tests.values()):
        _add(found, test, {} if len(tests) == 1 else {"process": number})


def _read_stream(content: Content, found: Found) -> None:
    """Put the events of each test together to the document that `-J` writes."""
    tests: list[dict[str, Any]] = []
    for event in map(Part, content.documents.whole):
        kind, data = event["event"].text, event["data"].value
        if kind == "start" or not tests:
            tests.append({"intervals": []})
        if kind == "interval":
            tests[-1]["intervals"].append(data)
        elif kind in ("start", "end", "error"):
            tests[-1][kind] = data
    for number, test in enumerate(tests):
        if "end" not in test:
            test.setdefault("error", "it ended before its summary")
        _add(found, Part(test), {} if len(tests) == 1 else {"process": number})


def _add(found: Found, test: Part, levels: Mapping[str, object]) -> None:
    start, end, error = test["start"], test["end"], test["error"].text
    found.version = start["version"].text.removeprefix("iperf ")
    found.facts |= {"system": start["system_info"].text} if start["system_info"] else {}
    options = {name: start["test_start"][name].level for name in _OPTIONS}
    congestion = end["sender_tcp_congestion"].text
    found.options |= {
        name: level for name, level in (*options.items(), ("congestion", congestion)) if level != ""
    }
    intervals = list(test["intervals"].entries())
    if error and intervals:
        found.note("partial", what=error)
    _note_intervals(found, intervals)
    named = dict(pairs(test["title"].text)) | dict(pairs(test["extra_data"].text))
    repetition, factors = repetition_of(named)
    reason = error or ("" if end else "it has no summary")
    numbered = levels if repetition is None else {**levels, "repetition": repetition}
    common = Trial(found=found, levels=numbered, start=_began(start), reason=reason)
    if f"sum_received{_REVERSE}" in end or any(f"sum{_REVERSE}" in each for each in intervals):
        for direction, suffix in (("forward", ""), ("reverse", _REVERSE)):
            trial = replace(common, treatment={"direction": direction, **factors})
            _add_sums(trial, end, intervals, suffix)
            if options["protocol"] == "UDP":
                _add_losses(trial, end[f"sum_received{suffix}"])
        return
    treatment: dict[str, object] = {}
    if options["protocol"] not in ("", "TCP") and not reason:
        treatment["protocol"] = options["protocol"]
    elif congestion and not reason:
        treatment["congestion"] = congestion
        for name in [name for name, level in factors.items() if level == congestion]:
            found.remark(f"{name}={congestion} in the title repeats the congestion control, and is left out")
            del factors[name]
    trial = replace(common, treatment=treatment | factors)
    if options["protocol"] == "UDP":
        _add_udp(trial, end, intervals)
    else:
        _add_sums(trial, end, intervals, "")
        _add_rtt(trial, end)


def _began(start: Part) -> float | None:
    exact = start["timestamp"]["timemillisecs"].number
    return start["timestamp"]["timesecs"].number if exact is None else exact / 1000


def _add_sums(trial: Trial, end: Part, intervals: list[Part], suffix: str) -> None:
    """Add goodput and retransmissions of one direction; 0 bytes received after some were sent is no goodput of 0."""
    sent, received = end[f"sum_sent{suffix}"], end[f"sum_received{suffix}"]
    reason = ""
    if sent["bytes"].number and received["bytes"].number == 0:
        reason = "the receiver's summary did not come"
    trial.add(
        "goodput",
        received["bits_per_second"].number,
        "bit/s",
        "higher",
        reason=reason,
        samples=_samples(intervals, f"sum{suffix}"),
    )
    trial.add_known("retransmits", sent["retransmits"].number, "1", "lower")


def _add_rtt(trial: Trial, end: Part) -> None:
    values = [stream["sender"]["mean_rtt"].number for stream in end["streams"].entries()]
    known = [value for value in values if value]
    trial.add_known("rtt_mean", mean(known), "us", "lower")


def _add_udp(trial: Trial, end: Part, intervals: list[Part]) -> None:
    """Add what the receiver saw; old versions have one sum, with the sender's bytes and the receiver's loss."""
    received, samples = end["sum_received"], _samples(intervals, "sum")
    if received or trial.reason:
        lost_all = received["bytes"].number == 0 and bool(end["sum_sent"]["bytes"].number)
        reason = "the receiver's summary did not come" if lost_all else ""
        trial.add(
            "goodput",
            received["bits_per_second"].number,
            "bit/s",
            "higher",
            reason=reason,
            samples=samples,
        )
        if reason:
            return
    else:
        received = end["sum"]
        trial.add("sent_rate", received["bits_per_second"].number, "bit/s", "higher", samples=samples)
        trial.found.note("sender_side")
    _add_losses(trial, received)


def _add_losses(trial: Trial, received: Part) -> None:
    lost = received["lost_percent"].number
    trial.add_known("loss", None if lost is None else lost / 100, "1", "lower")
    trial.add_known("jitter", received["jitter_ms"].number, "ms", "lower")


def _samples(intervals: list[Part], key: str) -> Inside | None:
    kept = list(_kept(intervals, key))
    return Inside("interval", [rate for _, rate in kept], [begin for begin, _ in kept]) if kept else None


def _kept(intervals: list[Part], key: str) -> Iterator[tuple[float, float]]:
    for interval in intervals:
        begin, rate = interval[key]["start"].number, interval[key]["bits_per_second"].number
        if begin is not None and rate is not None and interval[key]["omitted"].value is not True:
            yield begin, rate


def _note_intervals(found: Found, intervals: list[Part]) -> None:
    """Say which intervals were left out, and which contradict each other."""
    sums = [interval["sum"] for interval in intervals]
    if omitted := sum(each["omitted"].value is True for each in sums):
        found.note("warmup_dropped", n=omitted)
    ended, was_omitted = 0.0, False
    for number, each in enumerate(sums):
        begin, end = each["start"].number, each["end"].number
        if begin is None or end is None:
            continue
        is_omitted = each["omitted"].value is True
        is_new_clock = was_omitted and not is_omitted and begin < _PART * (end - begin)
        was_omitted = is_omitted
        if begin < ended - _OVERLAP and not is_new_clock:
            found.note(
                "interval_times_inconsistent",
                what=f"number {number + 1} begins at {begin:g} s, the one before ends at {ended:g} s",
            )
        lasted = each["seconds"].number
        if lasted is not None and abs(end - begin - lasted) > _PART * lasted:
            found.note(
                "interval_times_inconsistent",
                what=f"number {number + 1} lasts {lasted:.4g} s, from {begin:g} s to {end:g} s",
            )
        ended = end


READERS = (
    Reader(
        name="iperf3-json",
        tool="iperf3",
        how="`iperf3 -J`",
        replicated="file",
        unit="file",
        fits=_is_document,
        read=_read_documents,
    ),
    Reader(
        name="iperf3-json-stream",
        tool="iperf3",
        how="`iperf3 --json-stream`",
        replicated="file",
        unit="file",
        fits=_is_stream,
        read=_read_stream,
    ),
)
