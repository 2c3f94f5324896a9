"""Clusters that cannot be had, by what is missing on this machine, are refused before anything is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import task_trials
from task_trials import DrawnKind
from trialwise import study
from trialwise.errors import PlanError, WorkerError
from trialwise.study import sessions

needs_jobqueue = pytest.mark.skipif(find_spec("dask_jobqueue") is None, reason="needs dask-jobqueue")


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sessions, "kind_of", lambda _: DrawnKind())
    return task_trials.write(tmp_path)


@contextmanager
def configured(cores: int | None, **more: object) -> Iterator[None]:
    """Jobs of SLURM with so many cores; None: `jobqueue.yaml` does not say."""
    import_module("dask_jobqueue")  # it adds its own defaults when it is imported
    job = {"cores": cores, "processes": 1, "memory": "1GB", "interface": "lo", "python": sys.executable}
    job |= {key.replace("_", "-"): value for key, value in more.items()}
    with import_module("dask").config.set({f"jobqueue.slurm.{key}": value for key, value in job.items()}):
        yield


@needs_jobqueue
def test_without_sbatch_it_is_said_at_once(experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with configured(1), pytest.raises(WorkerError, match="sbatch: No such file or directory"):
        study.run(experiment, tmp_path / "cluster", cluster="slurm")
    assert not (tmp_path / "cluster").exists()


@needs_jobqueue
def test_a_job_has_the_arguments_of_the_configuration_beside_ours(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "sbatch").write_text(f"#!/bin/sh\ncat > '{tmp_path}/job'\necho no >&2\nexit 1\n")
    (programs / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    refused = pytest.raises(WorkerError, match="sbatch takes no such job: no")
    with configured(1, worker_extra_args=["--lifetime", "5m"]), refused:
        study.run(experiment, tmp_path / "cluster", cluster="slurm")
    assert "--lifetime 5m --worker-class trialwise." in (tmp_path / "job").read_text()


@needs_jobqueue
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # of what Dask leaves half made
def test_without_a_configuration_it_says_where_that_stands(experiment: Path, tmp_path: Path):
    with configured(None), pytest.raises(PlanError, match=r"jobqueue\.yaml"):
        study.run(experiment, tmp_path / "cluster", cluster="slurm")


@pytest.mark.parametrize("module", ["distributed", "dask_jobqueue"])
def test_without_the_extra_it_says_what_to_install(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
):
    find = "trialwise.extras.find_spec"
    monkeypatch.setattr(find, lambda name: None if name == module else name)
    with pytest.raises(PlanError, match=rf"{module}\n.*trialwise\[cluster\]"):
        study.run(experiment, tmp_path / "cluster", cluster="tcp://host:1")
    assert not (tmp_path / "cluster").exists()


@pytest.mark.skipif(find_spec("distributed") is None, reason="needs Dask")
@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ("tcp:", "is not a scheduler's address\n.*tcp://host:port"),
        ("tcp://", "is not a scheduler's address"),
        ("tcp://localhost", "is not a scheduler's address"),
        ("tcp://localhost:port", "is not a scheduler's address"),
        ("tcp://localhost:99999", "is not a scheduler's address"),
        ("TCP://localhost:8786", "is not a scheduler's address\n.*tcp://host:port"),
        ("tls://me@localhost:8786", "is not a scheduler's address\n.*tls://host:port"),
        ("ssh:", "--cluster ssh:: '' is not a valid host"),
        ("ssh:a,,b", "--cluster ssh:a,,b: '' is not a valid host"),
        ("ssh:a,b c", "'b c' is not a valid host\n.*ssh:host,user@host:port"),
        ("ssh://host", "'//host' is not a valid host"),
        ("ssh:-oProxyCommand=x", "is not a valid host"),
    ],
)
def test_other_forms_are_refused_with_the_right_one(
    experiment: Path, tmp_path: Path, cluster: str, said: str
):
    with pytest.raises(PlanError, match=said):
        study.run(experiment, tmp_path / "cluster", cluster=cluster)
    assert not (tmp_path / "cluster").exists()


@pytest.mark.skipif(find_spec("distributed") is None, reason="needs Dask")
@pytest.mark.parametrize("cluster", ["tcp://nowhere.invalid:8786", "ssh:nowhere.invalid"])
def test_a_host_that_nobody_knows_is_named_at_once(experiment: Path, tmp_path: Path, cluster: str):
    with pytest.raises(WorkerError, match=r"nowhere\.invalid: .*\n.*check the name of the host"):
        study.run(experiment, tmp_path / "cluster", cluster=cluster)
