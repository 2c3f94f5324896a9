"""The examples that ask whether measuring changes what is measured, in small."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.system.c_library import install_c_library
from tests.system.conftest import TRIALWISE
from tests.system.paths import needs_paths

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.alone


@pytest.fixture
def example(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the example that the test names, its program built."""
    ignored = shutil.ignore_patterns("built", "__pycache__", "*.results")
    folder = shutil.copytree(EXAMPLES / request.param, tmp_path / "example", ignore=ignored)
    if (folder / "Makefile").exists():
        if missing := install_c_library(folder / "built"):
            pytest.skip(missing)
        subprocess.run(["make", "-s", "-C", folder, f"PREFIX={folder / 'built'}"], check=True)
    return folder


def observed(folder: Path, changes: dict[str, str], *words: str) -> dict[tuple[str, str], list[float]]:
    """Run with these lines of the file changed: the means of each metric and flavour, over the loads."""
    file = folder / "experiment.toml"
    text = file.read_text()
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    file.write_text(text)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [*TRIALWISE, "observe", "experiment.toml", "--json", *words],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert done.returncode in (0, 1, 3), done.stderr
    means: dict[tuple[str, str], list[float]] = {}
    for row in json.loads(done.stdout)["rows"]:
        if row["question"] == "effect":
            means.setdefault((row["metric"], row["flavour"]), []).append(row["mean"])
            means.setdefault((row["metric"], "base"), []).append(row["mean_base"])
    return means


@pytest.mark.parametrize("example", ["observer-generator"], indirect=True)
def test_every_flavour_reports_what_arrived_at_a_rate_that_it_keeps(example: Path):
    changes = {"rate = [5000, 50000, 200000]": "rate = [2000]", "rounds = 20": "rounds = 2"}
    found = observed(example, changes, "--error", "report")
    for flavour in ("base", "interval", "packet", "filter"):
        assert found["report", flavour] == pytest.approx([0.0] * len(found["report", flavour]), abs=0.5)
        assert all(1 < rate < 2.2 for rate in found["rate", flavour])


@pytest.mark.skipif(os.geteuid() != 0, reason="capturing needs root")
@pytest.mark.parametrize("example", ["observer-capture"], indirect=True)
def test_only_the_kernels_time_stamps_are_those_of_the_receiver(example: Path):
    changes = {"rate = [5000, 50000]": "rate = [2000]", "rounds = 24": "rounds = 3"}
    found = observed(example, changes, "--error", "loss")
    assert found["stamp", "base"] == pytest.approx([0.0, 0.0])
    assert found["stamp", "kernel"] == pytest.approx([0.0], abs=0.6)  # rows have microseconds
    assert found["stamp", "stream"][0] > 1
    assert found["loss", "kernel"] == found["loss", "base"][:1] == [0.0]


@needs_paths
@pytest.mark.parametrize("example", ["observer-shared-path"], indirect=True)
def test_a_report_for_each_packet_takes_its_share_of_the_path(example: Path):
    changes = {
        'every = ["none", "100", "50", "10", "1"]': 'every = ["none", "1"]',
        "rounds = 20": "rounds = 2",
    }
    found = observed(example, changes)
    (none,), (each,) = found["throughput", "base"], found["throughput", "1"]
    assert 8.5 < none < 10
    assert each < 0.97 * none
