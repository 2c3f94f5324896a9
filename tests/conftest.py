"""What all tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from stolen import StolenTime

_MEASURING = ("operating", "system")
"""The folders of tests in which real programs run in real time."""
_REPETITIONS = 3
collect_ignore = ["additions"]
"""Parts of a repository that has more than this one."""

_stolen = StolenTime()
"""Since the start of this test."""


def pytest_configure() -> None:
    """Draw the examples of property tests, with all the time that a busy machine needs, and take signals as on a terminal.

    They are the same in every run, so that a run says something of a change; with TRIALWISE_NEW_EXAMPLES, as `make soak` sets it,
    they are new ones.
    """
    settings.register_profile("same", deadline=None, derandomize=True)
    settings.register_profile("new", deadline=None)
    settings.load_profile("new" if os.environ.get("TRIALWISE_NEW_EXAMPLES") else "same")
    _take_signals()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Repeat a test of real programs that failed while a hypervisor kept much of the processor time from this machine."""
    tests = Path(__file__).parent
    again = pytest.mark.flaky(reruns=_REPETITIONS, condition=_stolen.is_much)
    for item in items:
        if item.path.relative_to(tests).parts[0] in _MEASURING:
            item.add_marker(again)


def pytest_runtest_setup() -> None:
    """Take signals as on a terminal, whatever a test, or a library that it has imported (dask-jobqueue), has made of them."""
    _take_signals()
    _stolen.begin()


def _take_signals() -> None:
    """As a program on a terminal does, also where the tests run in the background or under nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
