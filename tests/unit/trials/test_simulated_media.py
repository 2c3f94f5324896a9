"""Trials with a load of media, simulated: what a file of an experiment gives."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.kinds import kind_of
from trialwise.trials.loads import parse_load

QUANTITIES = (
    "frame_delay",
    "late_frames",
    "freezes",
    "freeze_share",
    "rate_utilization",
    "rate_variation",
    "quality",
)
FILE = """
[experiment]
name = "media"

[trial]
kind = "path"
engine = "simulated"
runtime = "20s"
{trial}
path = {{ rate = "{rate}", delay = "28ms", queue = "droptail:packets=20" }}
"""
METRIC = """
[metrics.{}]
measure = "{}"
{}
"""


def execute(folder: Path, trial: str, rate: str = "12Mbit/s", quantities=QUANTITIES) -> TrialOutcome:
    text = FILE.format(trial=trial, rate=rate)
    for name in quantities:
        text += METRIC.format(name, "p95" if name == "frame_delay" else "mean", "")
    found = parse_experiment(text, folder / "experiment.toml")
    kind = kind_of(found)
    kind.check(found, [{}])
    reader, writer = os.pipe()
    try:
        return kind.execute(
            TrialRequest(
                experiment=found, factors={}, number=1, attempt=1, series=1, round=1, position=1, seed=7,
                scratch=folder / "scratch", cancel=reader, marker="m",
            )
        )  # fmt: skip
    finally:
        os.close(reader)
        os.close(writer)


def value(outcome: TrialOutcome, quantity: str) -> float:
    (found,) = outcome.samples[f"path:{quantity}"].values
    return float(found)


def test_one_frame_takes_serialisation_and_propagation(tmp_path):
    (tmp_path / "frames.txt").write_text("1000\n")
    trial = 'scheme = "udp-fixed"\nload = "media:file=frames.txt,fps=10"'
    trial = trial.replace("udp-fixed", "udp-cubic")
    outcome = execute(tmp_path, trial, quantities=("frame_delay", "late_frames", "rate_utilization"))
    assert outcome.status == "finished", outcome.reason
    delays = outcome.samples["path:frame_delay"].values
    # IPv4, UDP, the header of data, which frame it is of; the first one also has the opening. 12 Mbit/s are 1.5 B each us.
    assert delays[1:] == pytest.approx((1000 + 72) / 1500 + 28, abs=2e-6)
    assert delays[0] == pytest.approx((1000 + 72 + 64) / 1500 + 28, abs=2e-6)
    assert len(delays) == 200
    assert value(outcome, "late_frames") == 0
    assert value(outcome, "rate_utilization") == pytest.approx(100 * 0.08 / 12)


def test_an_ample_path_shows_every_frame_at_the_highest_rate(tmp_path):
    load = "media:rate=150kbit/s..1.5Mbit/s,fps=30"
    outcome = execute(tmp_path, f'warmup = "2s"\nscheme = "udp-cubic"\nload = "{load}"')
    assert outcome.status == "finished", outcome.reason
    assert value(outcome, "rate_utilization") == pytest.approx(100 * 1.5 / 12, rel=0.02)
    assert value(outcome, "late_frames") == 0
    assert (
        value(outcome, "freezes") == value(outcome, "freeze_share") == value(outcome, "rate_variation") == 0
    )
    assert value(outcome, "quality") == pytest.approx(1.0, abs=0.02)
    again = execute(tmp_path, f'warmup = "2s"\nscheme = "udp-cubic"\nload = "{load},seed=7"')
    assert np.array_equal(
        again.samples["path:frame_delay"].values, outcome.samples["path:frame_delay"].values
    )


def test_a_narrow_path_shows_less(tmp_path):
    load = "media:rate=150kbit/s..1.5Mbit/s,fps=30"
    outcome = execute(tmp_path, f'scheme = "udp-copa"\nload = "{load}"', rate="600kbit/s")
    assert outcome.status == "finished", outcome.reason
    assert 30 < value(outcome, "rate_utilization") < 100
    assert 0 < value(outcome, "quality") < 0.6  # log2(0.6 / 0.15) / log2(10) = 0.602
    assert value(outcome, "rate_variation") > 0


def test_a_load_without_frames_has_no_metrics_of_them(tmp_path):
    with pytest.raises(PlanError, match="metric frame_delay: no flow that it is of carries media"):
        execute(tmp_path, 'scheme = "udp-cubic"\nload = "bulk"', quantities=("frame_delay",))


def test_recorded_frames_have_no_quality(tmp_path):
    (tmp_path / "frames.txt").write_text("1000\n")
    outcome = execute(
        tmp_path, 'scheme = "udp-cubic"\nload = "media:file=frames.txt"', quantities=("quality",)
    )
    assert "no range of rates" in str(outcome.reason)


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ("media:rate=0bit/s..1Mbit/s", "an encoder at rate 0 gives nothing"),
        ("media:rate=2Mbit/s..1Mbit/s", "write the lower rate first"),
        ("media:rate=1Mbit/s..2Mbit/s,fps=0", "fps: `0` is not a number above 0"),
        ("media:rate=1Mbit/s", "it must be a range"),
        ("media:fps=30", "needs a rate or a file"),
        ("media:", "needs a rate or a file"),
        ("media:file=", "file= names no file"),
        ("media:file=missing.txt", "missing.txt: cannot be read: No such file"),
        ("media:file=empty.txt", "empty.txt: it is empty"),
        ("media:file=huge.txt", "huge.txt: line 2: `999999999999` is not the size of a frame"),
        ("media:file=binary.bin", "is not text; write one frame size"),
        ("media:file=text.txt", "line 1: `frame` is not the size of a frame"),
        ("media:file=long.txt", "long.txt: is larger than 16 MiB"),
        ("media:file=many.txt", "line 1048577: there are more than 1048576 frames"),
        ("media:file=/dev/zero", "is a device"),
        ("media:file=.", "is a folder"),
        ("media:file=pipe", "is a pipe"),
    ],
)
def test_what_is_no_media_is_said(tmp_path, load: str, said: str):
    (tmp_path / "empty.txt").touch()
    (tmp_path / "huge.txt").write_text("1\n999999999999\n")
    (tmp_path / "binary.bin").write_bytes(bytes(range(256)))
    (tmp_path / "text.txt").write_text("frame\n")
    os.mkfifo(tmp_path / "pipe")
    if "long" in load:
        (tmp_path / "long.txt").write_bytes(b"1\n" * 10_000_000)
    (tmp_path / "many.txt").write_bytes(b"1\n" * 1_048_577)
    with pytest.raises(PlanError) as refused:
        parse_load(load, tmp_path)
    assert said in str(refused.value)


def test_a_comma_in_a_folder_is_said(tmp_path):
    folder = tmp_path / "a,b"
    folder.mkdir()
    (folder / "frames.txt").write_text("1\n")
    with pytest.raises(PlanError, match="has a comma in its name"):
        parse_load("media:file=frames.txt", folder)
