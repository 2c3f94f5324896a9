"""`trialwise simulate --mode compatible` gives the completion times of the reference simulator, in every nanosecond.

The recordings stand beside the repository and are no part of it.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pytest

from in_process import trialwise

ROOT = Path(__file__).parents[2]
FOLDERS = [folder / "shared/data/simulator" for folder in (ROOT.parent, ROOT.parent.parent)]
DATA = next((folder for folder in FOLDERS if folder.is_dir()), None)
TRIALWISE = Path(sys.executable).parent / "trialwise"
NAMES = {"dctcp": "dctcp", "dcqcnx": "dcqcn", "timely": "timely", "hpcc": "hpcc"}
SCENARIOS = ("db_ws30_20ms_s01", "db_fb30_5ms_s01", "det_incast8_500KB", "ft4_ws30_2ms_s01")


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.skipif(DATA is None, reason="the recorded runs (../shared/data/simulator) are not here")
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("recorded", NAMES)
def test_completion_times_are_equal(scenario: str, recorded: str) -> None:
    assert DATA is not None
    recording = DATA / f"{scenario}_{recorded}.csv"
    tree = scenario.startswith("ft4")
    topology = DATA / ("topo_fattree4.txt" if tree else "topo_dumbbell10x10.txt")
    routes = ["--routes", DATA / "topo_fattree4_routes.txt"] if tree else []
    files = ["--topology", topology, "--flows", recording, *routes]
    done = trialwise(
        "simulate", *files, "--cc", NAMES[recorded], "--mode", "compatible", "--csv", "-", cwd=DATA
    )
    assert done.returncode == 0, done.stderr
    theirs, ours = rows(recording.read_text()), rows(done.stdout)
    assert [row["fct_ns"] for row in ours] == [row["fct_ns"] for row in theirs]
    assert [row["start_ns"] for row in ours] == [row["start_ns_actual"] for row in theirs]
