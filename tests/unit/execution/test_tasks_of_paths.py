"""Simulated paths are computed at the same time, as other simulated trials are."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from task_trials import facts
from trialwise import study
from trialwise.errors import PlanError

NEWRENO = Path(__file__).parents[3] / "docs" / "how-to" / "newreno.py"
FILE = """
[experiment]
name = "simulated"
seed = 7
[factors]
scheme = ["udp-copa", "python:newreno:NewReno"]
[trial]
kind = "path"
engine = "simulated"
runtime = "2s"
flows = [
    {{ scheme = "{{scheme}}", load = "flows:poisson,rate=20/s,sizes=lognormal:mean=20kB,cv=1" }},
    {{ scheme = "udp-cubic", start = "1s" }},
]
path = {{ rate = "12Mbit/s", delay = "28ms", queue = "droptail:packets=50", loss = "0.1%" }}
[metrics.throughput]
measure = "mean"
[metrics.completion_time]
measure = "p50"
flow = 1
[design]
series = 1
rounds = 3
{design}
"""


def write(folder: Path, design: str = "") -> Path:
    (folder / "newreno.py").write_text(NEWRENO.read_text())
    file = folder / "experiment.toml"
    file.write_text(FILE.format(design=design))
    return file


def packet_records(directory: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in directory.glob("samples/*packets*")
    }


def test_one_and_two_processes_leave_the_same_record(tmp_path: Path):
    file = write(tmp_path)
    for jobs in (1, 2):
        result = study.run(file, tmp_path / f"jobs-{jobs}", jobs=jobs)
        assert result.counts == {"finished": 6}, study.state(tmp_path / f"jobs-{jobs}").failures
    assert facts(tmp_path / "jobs-1") == facts(tmp_path / "jobs-2")
    packets = packet_records(tmp_path / "jobs-1")
    assert len(packets) == 6
    assert packets == packet_records(tmp_path / "jobs-2")
    (node,) = study.state(tmp_path / "jobs-2").nodes
    assert (node.cores, node.done) == (2, 6)


@pytest.mark.parametrize(
    ("design", "what"), [('span = "1h"', "span"), ('[reset]\ncommand = "true"', "reset")]
)
def test_what_only_measured_trials_have_is_refused(tmp_path: Path, design: str, what: str):
    with pytest.raises(PlanError, match=what):
        study.run(write(tmp_path, design), tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
