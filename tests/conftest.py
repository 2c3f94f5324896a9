"""What all tests share."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Take signals as a program on a terminal does, also where the tests run in the background or under nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
