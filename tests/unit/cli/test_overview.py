"""`trialwise --help` is what cyclopts would print, and takes no library."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

START = "from trialwise.cli.start import main; main()"
BY_CYCLOPTS = "from trialwise.cli.main import main; main()"


def printed(code: str, words: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True, text=True, check=True, env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.parametrize("columns", ["60", "80", "133"])
def test_it_is_what_cyclopts_prints(columns: str) -> None:
    ours, theirs = (printed(code, ["--help"], COLUMNS=columns).stdout for code in (START, BY_CYCLOPTS))
    assert [line.rstrip() for line in ours.splitlines()] == [line.rstrip() for line in theirs.splitlines()]


@pytest.mark.parametrize("words", [["-h"], ["help"], ["--help"]])
def test_it_imports_no_library(words: list[str]) -> None:
    code = "import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n" + START
    done = printed(code, words)
    assert done.stdout.startswith("Usage: trialwise COMMAND\n")
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "trialwise" in loaded
    assert not loaded & {"attr", "cyclopts", "rich", "decimal", "inspect", "numpy", "polars", "subprocess"}


def test_a_terminal_without_our_characters_gets_others() -> None:
    lines = printed(START, ["--help"], PYTHONIOENCODING="ascii", COLUMNS="80").stdout.splitlines()
    assert f"+- Data {'-' * 71}+" in lines


def test_a_reader_that_has_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", START, "--help"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_all_else_goes_to_the_command_line() -> None:
    assert printed(START, ["--version"]).stdout == printed(BY_CYCLOPTS, ["--version"]).stdout
