from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from trialwise._linux import run_command
from trialwise.errors import TrialError
from trialwise.execution.recording import LOG_PART
from trialwise.experiment.placeholders import fill, names_in
from trialwise.measurement.programs import program_files
from trialwise.store.outputs import shortened
from trialwise.trials.starting import ending, last_complaint, start


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{x}", "1"),
        ("{x}{y}", "1{x}"),  # what a value holds is not filled again
        ("{{x}}", "{x}"),
        ("awk '{ print $1 }'", "awk '{ print $1 }'"),
        ("$HOME {} {x", "$HOME {} {x"),
        ("{yes} {f}", "true 0.1"),
    ],
)
def test_placeholders(text: str, filled: str):
    values = {"x": 1, "y": "{x}", "yes": True, "f": 0.1}
    assert fill(text, values) == filled


def test_a_placeholder_without_a_value_is_an_error():
    with pytest.raises(KeyError):
        fill("{unknown}", {})
    assert names_in("{a} {{b}} {c-d.e} { f }") == {"a", "c-d.e"}


def test_the_files_of_a_command(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text("")
    (tmp_path / "own").write_text("#!/bin/sh\n")
    (tmp_path / "own").chmod(0o755)

    def files(*words: str) -> list[Path]:
        return [each.path for each in program_files(words, tmp_path, {})]

    python = Path(sys.executable)
    assert files(str(python), "-u", "script.py", "x") == [python, script]
    assert files("./own", "script.py") == [tmp_path / "./own", script]
    assert [path.name for path in files("sh", "-c", "true")] == ["sh", "true"]
    assert files("no-such-program") == []
    assert [path.name for path in files("python3", "x" * 10_000)] == ["python3"]


def test_a_log_keeps_the_beginning_and_the_end():
    assert shortened(b"short", LOG_PART) == b"short"
    assert shortened(b"x" * (2 * LOG_PART), LOG_PART) == b"x" * (2 * LOG_PART)
    cut = shortened(b"a" * LOG_PART + b"middle" + b"z" * LOG_PART, LOG_PART)
    assert cut.startswith(b"a" * LOG_PART)
    assert cut.endswith(b"z" * LOG_PART)
    assert "6 bytes left out" in cut.decode()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["truncate", "--nope"], "truncate: unrecognized option '--nope'"),
        ([str(Path(sys.executable).with_name("ruff")), "--nope"], "error: unexpected argument '--nope' found"),
        ([sys.executable, "-c", "import argparse; argparse.ArgumentParser('p').parse_args(['x'])"],
         "p: error: unrecognized arguments: x"),
    ],
    ids=["getopt", "clap", "argparse"],
)  # fmt: skip
def test_what_a_program_complains_of_is_not_where_it_points_to(words: list[str], said: str, tmp_path: Path):
    done = run_command(words, environment={"LC_ALL": "C", "PATH": os.defpath}, working_directory=tmp_path)
    assert ending(done) == f"ended with exit code {done.exit_code}: {said}"


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        (b"", ""),
        (b" \n\n", ""),
        (b"error: first\nout of ideas\n", "out of ideas"),
        (
            b"thread 'main' panicked at src/main.rs:4:9:\nno buffer\nnote: run with `RUST_BACKTRACE=1` environment variable\n",
            "no buffer",
        ),
        (b"Usage: p FILE\n", "Usage: p FILE"),
        (b"x" * 1000, "x" * 300),
    ],
)
def test_the_last_complaint(errors: bytes, said: str):
    assert last_complaint(errors) == said


def test_a_program_without_its_supervisor_was_started_all_the_same(tmp_path: Path):
    """The parent of a program is its supervisor."""
    reading, writing = os.pipe()
    with pytest.raises(TrialError, match=r"^'sh' lost its supervisor, which was killed$"):
        start(
            ["sh", "-c", "kill -9 $PPID"],
            environment=dict(os.environ),
            directory=tmp_path,
            timeout=None,
            cancel=reading,
        )
    with pytest.raises(TrialError, match=r"^'/no/such' cannot be started: "):
        start(["/no/such"], environment={}, directory=tmp_path, timeout=None, cancel=reading)
    os.close(reading)
    os.close(writing)
