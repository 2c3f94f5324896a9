"""Programs that make a cluster are waited for until they say that they are there, and no longer than they live."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from trialwise.errors import WorkerError
from trialwise.execution.tasks.over_ssh import _address_in, _Started

Start = Callable[[str], _Started]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a script that is told a key on its standard input."""
    started: list[_Started] = []

    def begin(script: str) -> _Started:
        words = ["sh", "-c", script]
        started.append(_Started("node1", words, b"the key\n", tmp_path / "log", tried=["ssh", "node1"]))
        return started[-1]

    yield begin
    for each in started:
        each.end()


def test_one_that_takes_its_time_is_waited_for(start: Start, tmp_path: Path):
    began = time.monotonic()
    start(
        f'read key; sleep 0.3; echo "$key" > {tmp_path}/key; echo Registered to x; exec sleep 60'
    ).await_text("Registered to")
    assert time.monotonic() - began >= 0.3
    assert (tmp_path / "key").read_text() == "the key\n"


def test_one_that_ends_before_is_told_with_its_last_words(start: Start):
    with pytest.raises(WorkerError, match=r"node1 could not be started: no route\n.*: ssh node1$"):
        start("echo hello; echo no route >&2").await_text("Registered to")


def test_one_that_ends_without_a_word_is_told_too(start: Start):
    with pytest.raises(WorkerError, match="node1 could not be started: it said nothing"):
        start("exit 1").await_text("Registered to")


def test_a_scheduler_that_creates_its_file_before_it_writes_it_is_waited_for(start: Start, tmp_path: Path):
    file = tmp_path / "scheduler.json"
    script = f"""
        : > {file}; sleep 0.2; printf '{{"address": "tls:' > {file}; sleep 0.2
        printf '//10.0.0.1:8786"}}' >> {file}; exec sleep 60
    """
    assert _address_in(start(script), file) == "tls://10.0.0.1:8786"


def test_a_scheduler_that_ends_half_way_through_its_file_is_an_error(start: Start, tmp_path: Path):
    file = tmp_path / "scheduler.json"
    with pytest.raises(WorkerError, match="node1 could not be started: disk full"):
        _address_in(start(f"printf '{{' > {file}; echo disk full; exit 1"), file)
