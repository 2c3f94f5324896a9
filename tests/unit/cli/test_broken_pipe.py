from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "options",
    [
        ["analyze", "--objective", "percentile=50,confidence=75"],
        ["effects", "--group", "scheme"],
    ],
    ids=["console", "lines"],
)
def test_a_reader_that_goes_is_no_verdict(options: list[str], tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [
        f"{scheme}{number},{value + number}" for number in range(40) for scheme in "ab" for value in range(6)
    ]
    table.write_text("scheme,value\n" + "\n".join(rows))
    verb, *rest = options
    grouped = ["--group", "scheme", "--full"] if verb == "analyze" else []
    code = "from trialwise.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, verb, str(table), "--value", "value", *grouped, *rest],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        said = command.stderr.read().decode()
        assert command.wait() == 141
    assert "Traceback" not in said
    assert "Exception" not in said


@pytest.mark.parametrize("words", [["--help"], ["analyze", "--help"], ["--version"]])
def test_a_reader_of_help_that_goes_is_no_verdict(words: list[str]) -> None:
    code = "from trialwise.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        said = command.stderr.read().decode()
        assert command.wait() == 141
    assert said == ""
