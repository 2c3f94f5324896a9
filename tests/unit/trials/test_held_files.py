"""The files that links name are read once: by trials of real and of simulated packets alike."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment
from trialwise.trials.base import TrialRequest
from trialwise.trials.held_files import HeldFiles, files_named
from trialwise.trials.kinds import kind_of

EXPERIMENT = """
[experiment]
name = "held"

[trial]
kind = "path"
engine = "simulated"
scheme = "udp-cubic"
runtime = "2s"
path = { rate = "trace:up.trace", delay = "series:delays", loss = "series:losses", queue = "droptail:packets=50" }

[metrics.throughput]
measure = "mean"
"""


def test_every_way_to_name_a_file_is_known():
    groups = (
        (("rate", "trace:a.trace,bytes=mahimahi,repeat=no"), ("queue", "droptail:packets=5")),
        (("delay", "series:b,reorder=yes"), ("loss", "series:with, comma")),
        (("loss", "trace: c ,repeat=yes"), ("delay", "28ms")),
        (("loss", "pattern:0001"), ("rate", "poisson:rate=3Mbit/s")),
    )
    assert list(files_named(groups)) == ["a.trace", "b", "with, comma", "c"]


def test_links_are_those_of_the_files_at_the_first_reading(tmp_path: Path):
    files = {"a": "1\n", "b": "0 10ms\n", "with, comma": "0 1%\n", "d": "01\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    groups = (
        (
            ("rate", "trace:a,bytes=mahimahi"),
            ("delay", "series:b,reorder=yes"),
            ("loss", "series:with, comma"),
        ),
        (("loss", "trace:d,repeat=yes"),),
    )
    held = HeldFiles()
    links = held.groups(groups, str(tmp_path))
    before = _core.check_link(groups, str(tmp_path), 0.1)
    for name in files:
        (tmp_path / name).unlink()
    again = held.groups(groups, str(tmp_path))
    assert links == again
    found = _core.check_link(links, "/nowhere", 0.1)
    assert (found.base_delay, found.capacity, found.elements) == (
        before.base_delay,
        before.capacity,
        before.elements,
    )
    assert held.content("a", str(tmp_path)) == "1\n"
    with pytest.raises(PlanError, match="a: cannot be read: No such file"):
        pickle.loads(pickle.dumps(held)).groups(groups, str(tmp_path))  # noqa: S301 our own


@pytest.mark.parametrize("kind", ["zero", "folder", "none"])
def test_what_is_no_file_is_refused_before_the_start(tmp_path: Path, kind: str):
    name = {"zero": "/dev/zero", "folder": "."}.get(kind, "none")
    with pytest.raises(PlanError, match=r"is a device|is a folder|No such file"):
        HeldFiles().groups(((("rate", f"trace:{name}"),),), str(tmp_path))


def test_what_is_held_ends_with_its_holder(tmp_path: Path):
    (tmp_path / "a").write_text("1\n")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    held = HeldFiles()
    held.groups(((("rate", "trace:a"),),), str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == before + 1  # noqa: PTH208
    del held
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_trials_of_a_session_have_the_trace_that_was_checked(tmp_path: Path):
    """The second trial is as the first, though all files were changed or removed between them."""
    for name, text in {"up.trace": "1\n", "delays": "0 5ms\n", "losses": "0 0%\n"}.items():
        (tmp_path / name).write_text(text)
    experiment = parse_experiment(EXPERIMENT, tmp_path / "experiment.toml")
    kind = kind_of(experiment)
    kind.check(experiment, [{}])

    def throughput(number: int) -> float:
        read, write = os.pipe()
        try:
            outcome = kind.execute(
                TrialRequest(
                    experiment=experiment,
                    factors={},
                    number=number,
                    attempt=1,
                    series=1,
                    round=number,
                    position=1,
                    seed=7,
                    scratch=tmp_path / "scratch",
                    marker="m",
                    cancel=read,
                )
            )
        finally:
            os.close(read)
            os.close(write)
        assert outcome.status == "finished", outcome.reason
        return float(next(iter(outcome.samples.values())).values.mean())

    first = throughput(1)
    (tmp_path / "up.trace").write_text("100\n")
    (tmp_path / "delays").unlink()
    (tmp_path / "losses").write_text("nonsense\n")
    assert throughput(2) == first
    frozen = {name: path.read_bytes() for name, path in kind.attachments(experiment, [{}])}
    assert frozen["up.trace"] == b"1\n"
    assert frozen["delays"] == b"0 5ms\n"
