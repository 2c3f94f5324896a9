"""What the README says of all commands is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from in_process import trialwise

README = (Path(__file__).parents[3] / "README.md").read_text()
COMMANDS = """
from trialwise.cli.main import app

def commands(of, *above):
    for name in of:
        if not name.startswith("-"):
            print(*above, name)
            commands(of[name], *above, name)

commands(app)
"""


@pytest.fixture(scope="module")
def commands() -> list[str]:
    done = subprocess.run([sys.executable, "-c", COMMANDS], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_readme_names_each_command_and_which_have_json(commands: list[str]):
    listed, _, rest = (
        README.partition("<!-- commands -->")[2].partition("<!-- end -->")[0].partition("Each has")
    )
    named = re.findall(r"`([a-z]+)`", listed)
    assert sorted(named) == sorted(command for command in commands if " " not in command)
    without = set(re.findall(r"`([a-z]+)`", rest))
    found = {
        command.split()[0]
        for command in commands
        if re.search(
            r"^│[ *]*--json ", trialwise(*command.split(), "--help", cwd=Path()).stdout, re.MULTILINE
        )
    }
    assert found == set(named) - without
