"""What all tests share."""

from __future__ import annotations

import signal

from hypothesis import settings


def pytest_configure() -> None:
    """Give examples of property tests all the time that a busy machine needs, and take signals as on a terminal."""
    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")
    _take_signals()


def pytest_runtest_setup() -> None:
    """Take signals as on a terminal, whatever a test, or a library that it has imported (dask-jobqueue), has made of them."""
    _take_signals()


def _take_signals() -> None:
    """As a program on a terminal does, also where the tests run in the background or under nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
