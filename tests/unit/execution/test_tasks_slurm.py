"""A cluster by SLURM: jobs go to `sbatch`, which here is a script that starts them on this machine."""

from __future__ import annotations

import os
import socket
import sys
import time
from contextlib import ExitStack, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import task_trials
from task_trials import DrawnKind, facts
from trialwise import study
from trialwise.errors import PlanError, WorkerError
from trialwise.study import sessions

pytestmark = pytest.mark.skipif(find_spec("dask_jobqueue") is None, reason="needs dask-jobqueue")
DASHBOARD = 8787
"""The usual port of Dask's pages."""
TESTS = Path(__file__).parents[2]

SBATCH = """#!/bin/sh
[ "$1" = --test-only ] && exec grep -q '^#SBATCH'
cp "$1" {folder}/script  # the real one keeps a copy too
setsid sh {folder}/script > {folder}/log 2>&1 < /dev/null &
echo $! > {folder}/job
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
kill -- "-$(cat {folder}/job)"
touch {folder}/cancelled
"""
JOB = {
    "cores": 1,
    "processes": 1,
    "memory": "1GB",
    "interface": "lo",
    "python": sys.executable,
}


def configuration():
    """Dask's, with what dask-jobqueue adds when it is imported."""
    import_module("dask_jobqueue")
    return import_module("dask")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-ins for SLURM's commands, and the configuration of its jobs."""
    dask = configuration()
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (programs / name).write_text(text.format(folder=tmp_path))
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{TESTS.parent / 'src'}:{TESTS}")
    monkeypatch.setattr(sessions, "kind_of", lambda _: DrawnKind())
    task_trials.write(tmp_path)
    with dask.config.set({f"jobqueue.slurm.{key}": value for key, value in JOB.items()}):
        yield tmp_path


def run(folder: Path, name: str, **settings) -> study.RunResult:
    return study.run(folder / "experiment.toml", folder / name, **settings)


def test_jobs_of_slurm_compute_and_are_cancelled_at_the_end(slurm: Path):
    with ExitStack() as taken:
        with suppress(OSError):  # or somebody has it already
            taken.enter_context(socket.create_server(("", DASHBOARD)))
        result = run(slurm, "cluster", cluster="slurm", jobs=1)
    assert result.counts == {"finished": 40}
    run(slurm, "alone", jobs=1)
    assert facts(slurm / "cluster") == facts(slurm / "alone")
    deadline = time.monotonic() + 60
    while not (slurm / "cancelled").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_without_sbatch_it_is_said_at_once(slurm: Path):
    (slurm / "programs/sbatch").write_text("#!/bin/sh\necho 'no partition' >&2\nexit 1\n")
    with pytest.raises(WorkerError, match="sbatch takes no such job: no partition"):
        run(slurm, "cluster", cluster="slurm")
    assert not (slurm / "cluster").exists()


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # of what Dask leaves half made
def test_without_a_configuration_it_says_where_that_stands(slurm: Path):
    with (
        configuration().config.set({"jobqueue.slurm.cores": None}),
        pytest.raises(PlanError, match=r"jobqueue\.yaml"),
    ):
        run(slurm, "cluster", cluster="slurm")


@pytest.mark.parametrize("module", ["distributed", "dask_jobqueue"])
def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
):
    find = "trialwise.execution.tasks.clusters.find_spec"
    monkeypatch.setattr(find, lambda name: None if name == module else name)
    monkeypatch.setattr(sessions, "kind_of", lambda _: DrawnKind())
    task_trials.write(tmp_path)
    with pytest.raises(PlanError, match=rf"{module}\n.*trialwise\[cluster\]"):
        run(tmp_path, "cluster", cluster="tcp://host:1")
    assert not (tmp_path / "cluster").exists()
