"""Every command explains itself: what it does, examples, exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from in_process import trialwise

COMMANDS = [
    "new",
    "plan",
    "run",
    "status",
    "analyze",
    "report",
    "order",
    "compare",
    "profile",
    "runtime",
    "schemes",
    "trace",
    "scaffold",
    "packets",
    "doctor",
    "schema",
]
NESTED = [f"trace {name}" for name in ("make", "show", "plot", "scale", "cut", "from-capture", "from-log")]
NESTED += [f"schemes {name}" for name in ("show", "setup", "check")]
START = "from trialwise.cli.main import main; main()"


@pytest.mark.parametrize("command", [*COMMANDS, *NESTED])
def test_help_has_examples_and_exit_codes(command: str) -> None:
    text = trialwise(*command.split(), "--help", cwd=Path()).stdout
    assert "For example" in text
    assert text.count(f"trialwise {command}") >= 2
    assert "Exit code" in text


def test_every_command_is_listed() -> None:
    text = subprocess.run(
        [sys.executable, "-c", START, "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert all(f" {command} " in text for command in COMMANDS)


IMPORTS = """
import sys
from contextlib import redirect_stdout
from io import StringIO
from trialwise.cli.main import app

HEAVY = {"altair", "dask", "distributed", "matplotlib", "polars", "pyarrow", "scipy", "vl_convert"}

def commands(of, *above):
    for name in of:
        if not name.startswith("-"):
            yield (*above, name)
            yield from commands(of[name], *above, name)

for words in commands(app):
    with redirect_stdout(StringIO()) as printed:
        app([*words, "--help"], exit_on_error=False, result_action="return_value")
    loaded = HEAVY & set(sys.modules)
    print(*words, ":", len(printed.getvalue()), *sorted(loaded))
    if loaded:
        break
"""


def test_help_of_every_command_is_there_without_heavy_libraries():
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = [line.split(" : ") for line in done.stdout.splitlines()]
    assert {"run", "simulate", "doctor", "schemes check", "stream packets", "trace cut"} <= {
        words for words, _ in told
    }
    for words, found in told:
        size, *loaded = found.split()
        assert loaded == [], f"trialwise {words} --help imports {loaded}"
        assert int(size) > 200, words
