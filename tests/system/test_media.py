"""Frames of media over an emulated path with real packets, and how to see them."""

from __future__ import annotations

import json

import pytest
from tests.system.conftest import Bench
from tests.system.paths import needs_paths

pytestmark = [needs_paths, pytest.mark.alone]
EXPERIMENT = """
[experiment]
name = "real"
seed = 1

[factors]
load = ["media:rate=150kbit/s..1.5Mbit/s,model=constant", "media:file=frames.txt,deadline=500ms"]

[trial]
kind = "path"
scheme = "udp-cubic"
load = "{load}"
runtime = "3s"
path = { rate = "12Mbit/s", delay = "20ms", queue = "droptail:packets=100" }
lateness = "1s"

[metrics.frame_delay]
measure = "p50"

[metrics.late_frames]

[metrics.freeze_share]

[metrics.rate_utilization]

[design]
series = 1
rounds = 1
"""


def test_frames_are_timed_at_both_ends_over_real_packets(bench: Bench) -> None:
    bench.file.write_text(EXPERIMENT)
    (bench.file.parent / "frames.txt").write_text("1000\n3000\n")
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    assert done.returncode == 0, done.stderr
    found = json.loads(bench.compute("analyze", bench.directory, "--json").stdout)
    values = {
        (metric["metric"]["name"], trial["factors"]["load"].split("=")[0]): trial["value"]
        for metric in found["metrics"]
        for trial in metric["trials"]
    }
    for load in ("media:rate", "media:file"):
        # The path's own delay, and on a machine under load however much more.
        assert values["frame_delay", load] > 20
        assert 0 <= values["late_frames", load] <= 100
        assert 0 <= values["freeze_share", load] <= 100
    # At most all of the source: 1.5 Mbit/s, and 30 times 2000 B a second.
    assert 0 < values["rate_utilization", "media:rate"] < 100 * 1.55 / 12
    assert 0 < values["rate_utilization", "media:file"] < 100 * 0.5 / 12
