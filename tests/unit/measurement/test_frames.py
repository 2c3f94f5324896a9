"""Metrics of frames against frames enumerated by hand."""

from __future__ import annotations

import numpy as np
import pytest

from trialwise.errors import TrialError
from trialwise.measurement import frames as fr
from trialwise.measurement.flow_report import frames_of
from trialwise.measurement.frames import Frames

NEVER = float("nan")


def frames(*rows: tuple[float, int, bool, float], target: float = 1e6) -> Frames:
    """Frames as captured (s), size (B), key, arrived (s)."""
    captured, size, key, arrived = zip(*rows, strict=True)
    return Frames(
        np.array(captured), np.array(size), np.full(len(rows), target), np.array(key), np.array(arrived)
    )


def steady(count: int, delay: float = 0.05, without: tuple[int, ...] = ()) -> Frames:
    """Ten frames each second, all of them key frames."""
    return frames(*((n / 10, 1000, True, NEVER if n in without else n / 10 + delay) for n in range(count)))


def test_a_delay_is_from_capture_to_the_last_byte():
    found = frames((0.0, 100, True, 0.040), (0.1, 100, False, NEVER), (0.2, 100, False, 0.275))
    assert fr.frame_delays(found) == pytest.approx([40.0, 75.0])


def test_a_frame_is_displayed_with_what_it_needs():
    found = frames(
        (0.0, 100, True, 0.05),
        (0.1, 100, False, 0.30),  # late: the next one waits for it
        (0.2, 100, False, 0.25),
        (0.3, 0, False, NEVER),  # left out: nothing needs it
        (0.4, 100, False, 0.45),
        (0.5, 100, False, NEVER),  # lost: what follows cannot be decoded
        (0.6, 100, False, 0.65),
        (0.7, 100, True, 0.75),  # until a key frame
        (0.8, 100, False, 0.85),
    )
    assert fr.displayed(found) == pytest.approx([0.05, 0.30, 0.30, 0.45, 0.75, 0.85])


def test_planted_freezes_are_counted():
    # Gaps of 0.1 s, and one of 0.5 and one of 0.4 s: 100 frames without 4 and 3 of them, so 92 gaps over 9.9 s.
    found = steady(100, without=(20, 21, 22, 23, 50, 51, 52))
    mean = 9.9 / 92
    assert max(3 * mean, mean + 0.15) == pytest.approx(0.32283, abs=1e-5)
    assert fr.freezes(found, 10.0) == pytest.approx([0.5, 0.4])
    assert fr.freeze_share(found, 0.0, 10.0) == pytest.approx(9.0)
    # Gaps of 0.3 s are none.
    assert len(fr.freezes(steady(100, without=(20, 21)), 10.0)) == 0


def test_a_picture_that_freezes_for_good_is_frozen_to_the_end():
    found = steady(50)
    assert fr.freezes(found, 10.0) == pytest.approx([10.0 - 4.95])
    assert fr.freeze_share(found, 0.0, 10.0) == pytest.approx(50.5)


def test_a_flow_that_shows_nothing_is_frozen():
    found = steady(10, without=tuple(range(10)))
    assert fr.freeze_share(found, 0.0, 1.0) == 100.0
    assert len(fr.freezes(found, 1.0)) == 0


def test_late_frames_are_those_that_are_due():
    found = frames(
        (0.0, 100, True, 0.150),  # just in time
        (0.1, 100, False, 0.2501),
        (0.2, 100, False, NEVER),
        (0.3, 0, False, NEVER),
        (0.4, 100, False, 0.5),
        (0.9, 100, False, NEVER),  # not due before the end
    )
    assert fr.late_frames(found, 1.0) == pytest.approx(60.0)
    assert fr.late_frames(found, 1.0, deadline=0.3) == pytest.approx(40.0)
    assert np.isnan(fr.late_frames(found, 0.1))


def test_a_rate_is_that_of_frames_that_arrived():
    assert fr.frame_rate(steady(100, without=(3, 4)), 0.0, 10.0) == pytest.approx(98 * 8e-3 / 10)


def test_the_variation_of_a_target_is_that_of_its_seconds():
    targets = [1e6, 1e6, 2e6, 3e6, 5e6]  # seconds: 1 (twice), 2.5 (of 2 and 3), 5 not whole
    found = Frames(
        np.array([0.0, 0.5, 1.1, 1.9, 2.3]),
        np.full(5, 100),
        np.array(targets),
        np.zeros(5, dtype=bool),
        np.full(5, NEVER),
    )
    assert fr.rate_variation(found, 0.0, 2.5) == pytest.approx(100 * 0.75 / 1.75)
    assert np.isnan(fr.rate_variation(found, 0.0, 1.9))


@pytest.mark.parametrize(
    ("rates", "height"),
    [
        ((40e3, 160e3), 0.5),
        ((80e3, 80e3), 1.0),
        ((20e3, 80e3), 1.0),
        ((100e3, 400e3), 0.0),
        ((10e3, 40e3), 1.0),
    ],
)
def test_quality_is_logarithmic(rates: tuple[float, float], height: float):
    # 1000 B ten times a second are 80 kbit/s.
    assert fr.quality(steady(100), 0.0, 10.0, rates) == pytest.approx(height)


def test_quality_loses_the_frozen_share():
    found = steady(50)  # 40 kbit/s, frozen for 5.05 of 10 s
    assert fr.quality(found, 0.0, 10.0, (10e3, 160e3)) == pytest.approx(0.5 - 0.505)


def test_frames_outside_the_time_do_not_count():
    found = steady(20, delay=0.15).between(0.5, 1.0)
    assert found.captured == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9])
    assert found.arrived[:3] == pytest.approx([0.65, 0.75, 0.85])
    assert found.whole.tolist() == [True, True, True, True, False]


def test_reports_give_frames(tmp_path):
    sender, receiver = tmp_path / "report.jsonl", tmp_path / "arrivals.jsonl"
    line = '{{"frame":{},"captured_ns":{},"size_bytes":{},"is_key":{},"is_skipped":false,"target_bps":{}}}\n'
    sender.write_text(
        line.format(0, 2_000_000_000, 700, "true", "null")
        + '{"time_ns":2100000000,"rtt_ms":4}\n'
        + line.format(1, 2_500_000_000, 0, "false", 90_000)
    )
    receiver.write_text('{"frame":0,"arrived_ns":2040000000}\n{"frame":7,"arrived_ns":1}\n{"frame":1,"arr')
    found = frames_of(sender, 2_000_000_000)
    assert found.captured.tolist() == [0.0, 0.5]
    assert found.size.tolist() == [700, 0]
    assert found.key.tolist() == [True, False]
    assert found.arrived[0] == pytest.approx(0.04)
    assert np.isnan(found.arrived[1])
    assert np.isnan(found.target[0])
    assert found.target[1] == 90_000
    receiver.unlink()
    with pytest.raises(TrialError, match="the receiver wrote no report"):
        frames_of(sender, 0)
    with pytest.raises(TrialError, match="has no frames"):
        frames_of(b'{"time_ns":1}\n', 0)
