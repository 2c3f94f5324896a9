"""A metric over commits or days."""

from __future__ import annotations

import pytest

from trialwise.analysis.history import day_of


@pytest.mark.parametrize(
    ("time", "day"),
    [
        (None, ""),
        (0.0, "1970-01-01"),
        (-62_135_596_800.0, "0001-01-01"),
        (-62_135_596_801.0, ""),
        (253_402_300_799.5, "9999-12-31"),
        (253_402_300_800.0, ""),
        (float("nan"), ""),
        (float("inf"), ""),
        (1e300, ""),
    ],
)
def test_a_time_that_no_calendar_has_is_no_day(time: float | None, day: str):
    assert day_of(time) == day
