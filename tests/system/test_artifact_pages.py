"""The pages for authors and evaluators: each command as it is printed, in order, on what the page itself has made."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).resolve().parents[2] / "docs/how-to"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
AUTHORS, EVALUATORS = "for-authors.md", "evaluate-in-30-minutes.md"
OPEN = {"trialwise diff": {0, 1}, "trialwise verify": {0, 3}}
"""Exit codes that say something of machines and claims, and not that the command failed."""


def blocks(page, kind):
    return [text for name, text in BLOCK.findall((PAGES / page).read_text()) if name == kind]


def commands(page):
    lines = [line for text in blocks(page, "console") for line in text.splitlines()]
    assert all(line.startswith("$ ") for line in lines)
    return [line[2:] for line in lines]


def ran(command, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    allowed = next((codes for begin, codes in OPEN.items() if command.startswith(begin)), {0})
    assert done.returncode in allowed, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def authors(tmp_path_factory):
    folder = tmp_path_factory.mktemp("authors")
    (script,) = blocks(AUTHORS, "sh")
    (folder / "work").write_text(script)
    for name, text in zip(("sums.toml", "claims.toml"), blocks(AUTHORS, "toml"), strict=True):
        (folder / name).write_text(text)
    return folder, {command: ran(command, folder) for command in commands(AUTHORS)}


def test_authors_come_from_the_experiment_to_an_artifact_that_reproduces_here(authors):
    folder, said = authors
    rehearsal = next(text for command, text in said.items() if "--kick" in command)
    assert "reproduced" in rehearsal.splitlines()[0]
    text = (folder / "appendix.md").read_text()
    assert "(C1)" in text
    assert "trialwise verify artifact.zip --claim C1" in text
    assert "TODO" in text
    assert "not recorded" not in text  # the page has them recorded
    identity = re.search(r"identity sha256:([0-9a-f]{64})", said["trialwise verify artifact.zip"])
    assert identity[1] in text


def test_evaluators_come_to_a_report_with_what_they_got(authors, tmp_path):
    (tmp_path / "artifact.zip").write_bytes((authors[0] / "artifact.zip").read_bytes())
    said = {command: ran(command, tmp_path) for command in commands(EVALUATORS)}
    report = (tmp_path / "ae.md").read_text()
    assert "C1" in report
    assert "reproduced" in report
    assert str(tmp_path) not in report
    assert "work" in said["ls evaluated/programs/*"].split()
