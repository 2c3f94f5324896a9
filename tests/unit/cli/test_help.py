"""Every command explains itself: what it does, examples, exit codes."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
    arguments = [sys.executable, "-c", START, *command.split(), "--help"]
    text = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    assert "For example" in text
    assert text.count(f"trialwise {command}") >= 2
    assert "Exit code" in text


def test_every_command_is_listed() -> None:
    text = subprocess.run(
        [sys.executable, "-c", START, "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert all(f" {command} " in text for command in COMMANDS)
