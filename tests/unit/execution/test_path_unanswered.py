"""Flows whose packets came to an end and not to its program: a firewall there drops what the capture sees."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from trialwise.execution.ends.records import PROBE, EndRecord
from trialwise.execution.ends.unanswered import unanswered
from trialwise.measurement.sightings import CAME, RECORD, SENT, Sightings
from trialwise.schemes.library import SHIPPED, scheme_named

TCP, UDP = 6, 17
NAMES = ("local", "ssh://far")
SECOND = 10**9
STOP = 5.0


def plan(number, source=SHIPPED / "cubic.toml", *, own=False, first="receiver", direction="uplink"):
    scheme = SimpleNamespace(name=source.stem, source=source, first=first, notes_packets=own)
    return SimpleNamespace(number=number, scheme=scheme, stop=STOP, flow=SimpleNamespace(direction=direction))


def seen(*rows):
    """Records of (flow, direction, protocol), and of size and second where they matter."""
    records = np.zeros(len(rows), RECORD)
    for place, (flow, direction, protocol, *more) in enumerate(rows):
        size, second = more or (100 + place, 1.0)
        records[place] = (round(second * SECOND), 0, size, flow, direction, 0, 64, protocol, 0, 0, 0)
    return Sightings("seen", records, 0)


def record(*reports):
    """The record of an end whose flows began at 0; the sender of flow 1 reported these lines there."""
    files = {"flow-1/report.jsonl": b"\n".join(json.dumps(each).encode() for each in reports)}
    return EndRecord({"began": 0}, np.zeros(0, PROBE), b"", files)


def told_of(plans, ends, *reports):
    """Return what is told where the sender of flow 1, at the first end, reported these lines."""
    return unanswered(plans, ends, (record(*reports), record()), NAMES, 5200)


@pytest.mark.parametrize("calls", [0, 1])
def test_an_end_that_gets_packets_and_sends_none_is_named_with_its_port(calls):
    asking = seen((1, SENT, TCP), (1, SENT, TCP), (1, CAME, TCP), (2, SENT, UDP), (2, SENT, UDP))
    quiet = seen((1, SENT, TCP), (1, SENT, TCP), (1, CAME, TCP), (2, CAME, UDP), (2, CAME, UDP))
    ends = (asking, quiet) if calls == 0 else (quiet, asking)
    told, hint = told_of([plan(1), plan(2)], ends)
    here, there = NAMES if calls == 0 else NAMES[::-1]
    assert told == f"flow 2 (cubic): 2 packets from {here} came to {there}, which answered none"
    assert hint == f"let port 5202 pass the firewall of {there}"


def test_what_was_lost_on_the_way_or_needs_no_answer_is_no_firewall():
    lost = seen((1, SENT, UDP)), seen((2, CAME, UDP))
    assert told_of([plan(1)], lost) is None
    one_way = seen((1, SENT, UDP)), seen((1, CAME, UDP))
    assert told_of([plan(1, Path("own/blast.toml"))], one_way) is None
    assert told_of([plan(1)], one_way) is not None
    of_tcp = seen((1, SENT, TCP)), seen((1, CAME, TCP))
    assert told_of([plan(1, Path("own/blast.toml"))], of_tcp) is not None


def calls(protocol, *sizes, answered=1.0):
    """An end that sends packets of these sizes, and gets an answer; and the other one."""
    rows = [(1, SENT, protocol, size, 0.5) for size in sizes]
    there = [(1, SENT, protocol, 60, 0.9), *((1, CAME, protocol, size, 0.6) for size in sizes)]
    return seen(*rows, (1, CAME, protocol, 60, answered)), seen(*there)


@pytest.mark.parametrize(
    ("first", "direction", "caller"),
    [("receiver", "uplink", 0), ("receiver", "downlink", 1), ("sender", "uplink", 1)],
)
def test_an_end_that_goes_on_calling_although_answers_came_is_named(first, direction, caller):
    for protocol, source in ((TCP, Path("own/web.toml")), (UDP, SHIPPED / "ngtcp2-cubic.toml")):
        flow = plan(1, source, first=first, direction=direction)
        ends = calls(protocol, 60, 60)
        told, hint = told_of([flow], ends if caller == 0 else ends[::-1])
        here, there = NAMES[1 - caller], NAMES[caller]
        assert told == (
            f"flow 1 ({source.stem}): 1 answer from {here} came to {there}, and the program there got none"
        )
        assert hint == f"let answers from port 5201 pass the firewall of {there}"
        talking = calls(protocol, 60, 52)
        assert told_of([flow], talking if caller == 0 else talking[::-1]) is None


def test_an_answer_that_came_too_late_for_the_program_is_no_firewall():
    assert told_of([plan(1)], calls(TCP, 60, answered=STOP - 0.1)) is not None
    assert told_of([plan(1)], calls(TCP, 60, answered=STOP + 0.1)) is None


def test_a_sender_of_ours_has_heard_what_it_reports_round_trips_of():
    """It fills each packet, so that all may have one size, and closes with another."""
    flow = plan(1, SHIPPED / "udp-copa.toml", own=True)
    none, some = {"rtt_ms": None}, {"rtt_ms": 10.5}
    for sizes in ((1500, 1500), (1500, 44)):
        ends = calls(UDP, *sizes)
        assert told_of([flow], ends, none, none) is not None
        assert told_of([flow], ends, none, some) is None
        assert told_of([flow], ends) is None


@pytest.mark.parametrize(
    ("more", "heard"),
    [
        ({"flow": 0, "start_ns": 1, "end_ns": 9, "size_bytes": 1000}, True),
        ({"flow": 0, "start_ns": 1, "end_ns": None, "size_bytes": 1000}, False),
        ({"summary": {"bytes_acknowledged": 176_000}}, True),
        ({"summary": {"bytes_acknowledged": 0}}, False),
    ],
)
def test_short_flows_that_end_before_a_second_report_were_answered(more, heard):
    flow = plan(1, SHIPPED / "udp-copa.toml", own=True)
    found = told_of([flow], calls(UDP, 1500, 1500), {"rtt_ms": None}, more)
    assert (found is None) == heard


def test_which_schemes_note_their_packets():
    assert scheme_named("udp-copa").notes_packets
    assert not scheme_named("cubic").notes_packets
    assert not scheme_named("quiche-cubic").notes_packets
