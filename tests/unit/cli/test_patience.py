from __future__ import annotations

import io
import threading
import time

import pytest
from rich.console import Console

from trialwise.cli import spinner


@pytest.fixture
def log(monkeypatch):
    monkeypatch.setattr(spinner, "_PATIENCE", 1.0)
    return io.StringIO()


def test_nothing_is_said_of_what_is_quick(log, monkeypatch):
    monkeypatch.setattr(spinner, "_PATIENCE", 600.0)
    before = threading.enumerate()
    with spinner.StatusLine("searching", Console(file=log)) as waiting:
        waiting.say("pilot 1 of 2")
    assert threading.enumerate() == before, "nobody is left who would say something later"
    assert log.getvalue() == ""


def test_what_takes_long_is_said_once_and_then_how_far_it_is(log):
    with spinner.StatusLine("searching", Console(file=log)) as waiting:
        deadline = time.monotonic() + 60
        while not log.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(1.1)
        waiting.say("pilot 1 of 2")
        waiting.say("pilot 2 of 2")
    assert log.getvalue().splitlines() == ["searching …", "pilot 1 of 2 …"]


def test_a_failure_passes_through(log):
    with pytest.raises(ValueError, match="no"), spinner.StatusLine("searching", Console(file=log)):
        raise ValueError("no")
