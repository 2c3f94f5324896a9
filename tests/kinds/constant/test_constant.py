"""A kind of trial that is a package of its own goes through every command, and none of them knows it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILE = """
[experiment]
name = "sums"
seed = 7
[factors]
a = [1, 2]
[trial]
kind = "constant"
number = "{a} + 0.5"
[metrics.size]
unit = "m"
better = "lower"
kpi = { percentile = 50, confidence = 75 }
[metrics.area]
value = "square"
[design]
rounds = 6
series = 2
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A path on which the package is installed, with the metadata that an installer makes of its pyproject.toml."""
    site = tmp_path_factory.mktemp("site")
    metadata = site / "trialwise_constant-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: trialwise-constant\nVersion: 1\n")
    found = re.search(r'^constant = "(.*)"$', (HERE / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None
    (metadata / "entry_points.txt").write_text(f"[trialwise.kinds]\nconstant = {found[1]}\n")
    return f"{HERE.parent}{os.pathsep}{site}"


class Shell:
    def __init__(self, folder: Path, path: str) -> None:
        self.folder = folder
        before = os.environ.get("PYTHONPATH")
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (path, before)))}

    def __call__(self, *words: str, code: int = 0) -> str:
        """What a command prints; of one that fails what it says is wrong."""
        done = subprocess.run(
            [Path(sys.executable).parent / "trialwise", *words],
            cwd=self.folder, env={**self.environment, "COLUMNS": "160", "NO_COLOR": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code else done.stdout


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, installed: str) -> Shell:
    """A folder in which the experiment has run."""
    shell = Shell(tmp_path_factory.mktemp("sums"), installed)
    (shell.folder / "sums.toml").write_text(FILE)
    shell("run", "sums.toml")
    return shell


def test_status_says_how_far_it_is(shell: Shell) -> None:
    assert "sums: 24 of 24 trials have come to an end; complete" in shell("status", "sums.results")


def test_the_analysis_has_the_sums(shell: Shell) -> None:
    analysis = json.loads(shell("analyze", "sums.results", "--json"))
    plan = analysis["plan"]
    assert (plan["kind"], plan["command"]) == ("constant", "the number {a} + 0.5")
    size, area = analysis["metrics"]
    assert {(each["treatment"], each["value"]) for each in size["trials"]} == {("a=1", 1.5), ("a=2", 2.5)}
    assert {(each["treatment"], each["value"]) for each in area["trials"]} == {("a=1", 2.25), ("a=2", 6.25)}
    assert (size["metric"]["unit"], size["metric"]["better"]) == ("m", "lower")
    assert any("nothing in them is random" in note for note in analysis["notes"])
    assert analysis["spread"] == {"lowest": 1.5, "highest": 6.25}


def test_documents_say_what_ran_and_what_the_kind_adds(shell: Shell) -> None:
    shell("report", "sums.results", "--out", "sums.html")
    page = (shell.folder / "sums.html").read_text()
    assert "the number {a} + 0.5" in page
    assert "Numbers from 1.5 to 6.25." in page
    assert "Numbers from 1.5 to 6.25." in shell("analyze", "sums.results")


def test_treatments_are_compared(shell: Shell) -> None:
    (shell.folder / "three.toml").write_text(FILE.replace("0.5", "1.5"))
    shell("run", "three.toml", "-d", "three.results")
    told = json.loads(shell("compare", "sums.results", "three.results", "--json"))
    sizes = [row for row in told["rows"] if row["metric"] == "size"]
    assert [row["difference"]["hodges_lehmann"]["estimate"] for row in sizes] == [1.0, 1.0]


def test_computed_trials_take_a_time_that_only_a_pilot_knows(shell: Shell) -> None:
    assert "not known; run a pilot with --pilot" in shell("plan", "sums.toml")


def test_what_is_wrong_in_a_file_is_said_in_its_words(shell: Shell) -> None:
    (shell.folder / "wrong.toml").write_text(FILE.replace('"{a} + 0.5"', '"{a} and 0.5"'))
    assert "trial.number: '0 and 0.5' is no sum of numbers" in shell("plan", "wrong.toml", code=2)
    (shell.folder / "wrong.toml").write_text(FILE.replace('value = "square"', 'quantity = "square"'))
    assert 'metrics.area.quantity: only valid with kind = "path" or "simulation"' in shell(
        "plan", "wrong.toml", code=2
    )
    (shell.folder / "wrong.toml").write_text(FILE.replace('value = "square"', 'vale = "square"'))
    assert 'did you mean "value"?' in shell("plan", "wrong.toml", code=2)
    (shell.folder / "wrong.toml").write_text(FILE.replace('"constant"', '"constnat"'))
    assert 'did you mean "constant"?' in shell("plan", "wrong.toml", code=2)


def test_it_takes_five_files() -> None:
    files = {path.name for path in HERE.iterdir() if path.suffix in {".py", ".toml"}}
    assert files == {"pyproject.toml", "file.py", "run.py", "results.py", Path(__file__).name}


def test_nobody_else_has_the_kind(shell: Shell) -> None:
    without = Shell(shell.folder, "")
    known = '"command", "python", "path", or "simulation"'
    assert f"trial.kind: must be {known}" in without("plan", "sums.toml", code=2)
