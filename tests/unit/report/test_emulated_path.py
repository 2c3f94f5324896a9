"""What `trialwise path` says of a path that carried nothing."""

from __future__ import annotations

from trialwise.report.documents.emulated_path import document
from trialwise.report.render.terminal import terminal
from trialwise.trials.path_documents import EcnDocument, LinkDocument, PathDocument

NO_ECN = EcnDocument(0, 0, 0, 0)
CARRIED = LinkDocument(1000, 990, 8, 2, 0, 0, NO_ECN, NO_ECN, 1_485_000, 0, 0.00012, 0.0004)
SILENT = LinkDocument(0, 0, 0, 0, 0, 0, NO_ECN, NO_ECN, 0, 0, 0.0, 0.0)


def lines(uplink: LinkDocument, downlink: LinkDocument) -> list[str]:
    found = document(PathDocument(0, 10.0, 0.1, True, None, uplink, downlink))
    return ["".join(span.text for span in line) for line in terminal(found, None)]


def test_nothing_is_said_of_the_lateness_of_no_packets():
    first, *ways = lines(SILENT, SILENT)
    assert first == "no packet crossed the path"
    assert not any("late" in way for way in ways)


def test_a_way_that_carried_nothing_has_no_lateness():
    first, up, down = lines(CARRIED, SILENT)
    assert first == "the path was late by 0.12 ms at most (p99)"
    assert up.endswith("; late by 0.12 ms (p99)")
    assert down.endswith("0 dropped, 0 held")
