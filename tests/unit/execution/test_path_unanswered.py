"""Flows that one end never answered: a firewall there drops what the capture sees."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from trialwise.execution.ends.unanswered import unanswered
from trialwise.measurement.sightings import CAME, RECORD, SENT, Sightings
from trialwise.schemes.library import SHIPPED

TCP, UDP = 6, 17
NAMES = ("local", "ssh://far")


def plan(number, source=SHIPPED / "cubic.toml"):
    return SimpleNamespace(number=number, scheme=SimpleNamespace(name=source.stem, source=source))


def seen(*rows):
    """Records of (flow, direction, protocol)."""
    records = np.zeros(len(rows), RECORD)
    for name, values in zip(("flow", "direction", "protocol"), zip(*rows, strict=True), strict=True):
        records[name] = values
    return Sightings("seen", records, 0)


@pytest.mark.parametrize("calls", [0, 1])
def test_an_end_that_gets_packets_and_sends_none_is_named_with_its_port(calls):
    asking = seen((1, SENT, TCP), (1, CAME, TCP), (2, SENT, UDP), (2, SENT, UDP))
    quiet = seen((1, SENT, TCP), (1, CAME, TCP), (2, CAME, UDP), (2, CAME, UDP))
    ends = (asking, quiet) if calls == 0 else (quiet, asking)
    told, hint = unanswered([plan(1), plan(2)], ends, NAMES, 5200)
    here, there = NAMES if calls == 0 else NAMES[::-1]
    assert told == f"flow 2 (cubic): 2 packets from {here} came to {there}, which answered none"
    assert hint == f"let port 5202 pass the firewall of {there}"


def test_what_was_lost_on_the_way_or_needs_no_answer_is_no_firewall():
    lost = seen((1, SENT, UDP)), seen((2, CAME, UDP))
    assert unanswered([plan(1)], lost, NAMES, 5200) is None
    one_way = seen((1, SENT, UDP)), seen((1, CAME, UDP))
    assert unanswered([plan(1, Path("own/blast.toml"))], one_way, NAMES, 5200) is None
    assert unanswered([plan(1)], one_way, NAMES, 5200) is not None
    of_tcp = seen((1, SENT, TCP)), seen((1, CAME, TCP))
    assert unanswered([plan(1, Path("own/blast.toml"))], of_tcp, NAMES, 5200) is not None
