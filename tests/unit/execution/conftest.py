"""Runs of independent trials."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from task_trials import DrawnKind
from trialwise import study
from trialwise.study import sessions


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., study.RunResult]:
    """Run the experiment in a directory of its own with a kind of trial."""

    def running(name: str, kind: DrawnKind | None = None, **settings) -> study.RunResult:
        monkeypatch.setattr(sessions, "kind_of", lambda _: kind or DrawnKind())
        return study.run(tmp_path / "experiment.toml", tmp_path / name, **settings)

    return running
