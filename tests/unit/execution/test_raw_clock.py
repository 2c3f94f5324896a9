"""The clock of an end, and the errors that tests plant in it: the same as in the programs that stamp packets (stamps.rs)."""

import time

import pytest

from trialwise.execution.workers.agent.raw_clock import PLANTED, error_after, planted, raw_now

SECOND = 10**9


def test_planted_errors_are_those_that_are_asked_for(monkeypatch):
    monkeypatch.setenv(PLANTED, "skew:20ppm,offset:1000s,step:3s@5ms")
    assert error_after(0) == 1000 * SECOND
    assert error_after(2 * SECOND) == 1000 * SECOND + 40_000
    assert error_after(3 * SECOND) == 1000 * SECOND + 60_000, "this clock is not set"
    assert planted("step", "") == "3s@5ms"
    assert planted("sleep", "none") == "none"


@pytest.mark.parametrize(
    ("text", "error"), [(None, 0), ("sleep:2s@60s", 0), ("offset:-5000s", -5000 * SECOND)]
)
def test_the_clock_is_that_of_the_kernel_with_its_error(monkeypatch, text, error):
    monkeypatch.delenv(PLANTED, raising=False)
    if text is not None:
        monkeypatch.setenv(PLANTED, text)
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    now = raw_now() - error
    assert before <= now <= time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
