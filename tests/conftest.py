"""What all tests share."""

from __future__ import annotations

import signal

from hypothesis import settings


def pytest_configure() -> None:
    """Take signals as a program on a terminal does, also where the tests run in the background or under nohup.

    And give examples of property tests all the time that a busy machine needs.
    """
    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
