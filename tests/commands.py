"""Which commands there are, as the command line has them."""

from __future__ import annotations

import subprocess
import sys

EVERY = """
from trialwise.cli.main import app

def commands(of, *above):
    for name in of:
        if not name.startswith("-"):
            yield (*above, name)
            yield from commands(of[name], *above, name)
"""
NAMES = (
    EVERY
    + """
for words in commands(app):
    print(*words)
"""
)

COMMANDS = subprocess.run(
    [sys.executable, "-c", NAMES], capture_output=True, text=True, check=True
).stdout.splitlines()
"""Every command, those of commands included, as the command line has them."""
