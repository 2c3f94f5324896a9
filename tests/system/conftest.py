"""Experiments with real programs, run inside the process of the test or by the command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate

import in_process
from in_process import Done
from trialwise import study
from trialwise.cli.schema import json_schema
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow

EMULATOR_LATE = ("the emulator was late", "the emulator was busy", "that no record tells of")
"""In the reasons of trials over paths that are not valid because the machine was too busy."""
TRIALWISE = [sys.executable, "-c", "from trialwise.cli.main import main; main()"]


@dataclass
class Bench:
    """A folder with an experiment."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "experiment.toml"

    @property
    def directory(self) -> Path:
        return self.folder / "results"

    def write(
        self,
        command: str,
        metric: str = 'resource = "wall"',
        *,
        trial: str = "",
        factors: str = "",
        rest: str = "",
        rounds: int = 2,
    ) -> Bench:
        """Write an experiment file; `command` is written as a TOML literal."""
        kind = "" if command == "" else f"command = '''{command}'''\n"
        self.file.write_text(
            f'[experiment]\nname = "bench"\n\n[factors]\n{factors}\n[trial]\n{kind}{trial}\n'
            f"[metrics.m]\n{metric}\n[design]\nseries = 1\nrounds = {rounds}\n{rest}\n"
        )
        return self

    def run(self, **settings) -> study.RunResult:
        """Run the experiment; anew and from nothing, five times at most, where the first run was spoilt by the machine's load."""
        is_first = not self.directory.exists()
        result = study.run(self.file, self.directory, **settings)
        for _ in range(5):
            if not (is_first and self.is_spoilt):
                break
            shutil.rmtree(self.directory)
            result = study.run(self.file, self.directory, **settings)
        return result

    @property
    def is_spoilt(self) -> bool:
        """Whether a trial over a path is not valid because another program kept the emulator from its work."""
        return any(words in str(row.reason) for row in self.rows("invalid") for words in EMULATOR_LATE)

    def rows(self, *statuses) -> list[TrialRow]:
        ledger = Ledger.open(self.directory / "ledger.sqlite", read_only=True)
        try:
            return ledger.trials(*statuses)
        finally:
            ledger.close()

    def values(self) -> list[float | None]:
        """What the trials reported, without what is recorded beside that of every program."""
        ledger = Ledger.open(self.directory / "ledger.sqlite", read_only=True)
        try:
            return [value for _, _, key, value, _, _ in ledger.values() if not key.startswith("instrument:")]
        finally:
            ledger.close()

    def command_line(self, *words: str | Path, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """`trialwise …` in the folder."""
        return subprocess.run(
            [*TRIALWISE, *map(str, words)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "COLUMNS": "200"},
        )

    def compute(self, *words: str | Path) -> Done:
        """`trialwise …` in the folder, of a command that executes no trials: in the process of the test."""
        return in_process.trialwise(*words, cwd=self.folder)

    def status(self, directory: Path | None = None) -> dict[str, Any]:
        """What `trialwise status --json` says of a directory; it is as its schema has it."""
        found = json.loads(self.compute("status", directory or self.directory, "--json").stdout)
        validate(found, json_schema("status"))
        return found

    def kill_while_computing(self, *words: str | Path) -> None:
        """Run a command that computes trials, and kill it after a trial is recorded."""
        runner = subprocess.Popen(
            [*TRIALWISE, *map(str, words)], stderr=subprocess.PIPE, text=True, cwd=self.folder
        )
        assert runner.stderr is not None
        deadline = time.monotonic() + 120
        while " [" not in runner.stderr.readline():  # the place of a trial that is recorded
            assert time.monotonic() < deadline
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
        runner.stderr.close()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
