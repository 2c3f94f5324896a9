from __future__ import annotations

import pytest

from trialwise.execution.clocks import Clocks, disturbance, read_clocks

BEFORE = Clocks(realtime=1e9, monotonic=500.0, boottime=700.0)


def after(seconds: float, *, slept: float = 0.0, step: float = 0.0) -> Clocks:
    return Clocks(
        BEFORE.realtime + seconds + slept + step,
        BEFORE.monotonic + seconds,
        BEFORE.boottime + seconds + slept,
    )


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (after(10), None),
        (after(3600, step=1.8), None),  # the fastest that a clock is slewed
        (after(10, slept=7200), "the machine slept for 2h"),
        (after(10, step=-3600), "the clock was set back by 1h"),
        (after(10, step=5), "the clock was set forward by 5s"),
        (after(10, slept=60, step=-5), "the machine slept for 1min; the clock was set back by 5s"),
    ],
)  # fmt: skip
def test_what_happened_to_the_clocks_is_said(now: Clocks, text: str | None):
    assert disturbance(BEFORE, now) == text


def test_nothing_happened_between_two_looks_here():
    assert disturbance(read_clocks(), read_clocks()) is None
