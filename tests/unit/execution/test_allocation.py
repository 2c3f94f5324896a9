"""What releases workers after our end does not end with us."""

from __future__ import annotations

import os
from pathlib import Path

from trialwise.execution.workers.allocation import _watch
from trialwise.experiment.reading import parse_experiment
from trialwise.store.directory import ExperimentDirectory

TEXT = """
[experiment]
name = "x"
[trial]
command = "true"
[metrics.m]
resource = "wall"
[workers]
allocate = ["true"]
release = ["true"]
"""


def test_the_watch_sees_no_signal_of_our_terminal(tmp_path: Path):
    directory = ExperimentDirectory(tmp_path / "r")
    directory.make()
    watching = _watch(parse_experiment(TEXT, tmp_path / "e.toml"), directory, "token")
    assert watching is not None
    try:
        assert os.getsid(watching.pid) == watching.pid
    finally:
        watching.communicate()
