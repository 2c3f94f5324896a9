"""What an encoding does not carry is told when it is first seen, and counted at the end."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest

from trialwise.measurement import Client


def test_a_value_that_the_encoding_does_not_carry_is_told_at_once_and_counted_at_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with Client("app", collect=f"file:{tmp_path / 'x'}", arguments=["x", "--oml-binary"]) as app:
        point = app.point("p", x=float)
        until = time.monotonic() + 30
        while not caplog.records and time.monotonic() < until:
            point.inject(1e40)
            time.sleep(0.001)
        (told,) = caplog.messages
        assert told.startswith("app_p to file:")
        assert "numbers out of range are sent as NaN, since OML's binary encoding cannot carry them" in told
        point.inject_batch(np.full(50, 1e40))
        time.sleep(0.1)
        point.inject(1e40)
        assert len(caplog.messages) == 1
    assert len(caplog.messages) == 2
    counted = re.search(r"of (\d+) rows (\d+) with a number out of range", caplog.messages[1])
    assert counted is not None
    assert int(counted[1]) == int(counted[2]) > 51
