"""Commands that only compute, run as from a shell but in the process of the test: a start takes longer than most of them.

What takes signals, executes trials or limits its process belongs in a process of its own.
"""

from __future__ import annotations

import io
import os
import runpy
import signal
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from trialwise.cli import main

COMMAND_LINE = main.__file__
"""Executed anew each time: how the commands are registered depends on the words."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def trialwise(*words: object, cwd: Path, **environment: str) -> Done:
    """`trialwise WORDS` in the folder `cwd`."""
    return run(["trialwise", *map(str, words)], cwd, **environment)


def run(words: list[str], cwd: Path, *, together: bool = False, **environment: str) -> Done:
    """`trialwise …`, `python SCRIPT …` or `python -c CODE` in the folder `cwd`, on a terminal of 200 columns.

    With `together`, errors stand among the output, as after `2>&1`.
    """
    out, variables = io.StringIO(), {"COLUMNS": "200", **environment}
    err = out if together else io.StringIO()
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err), patch.dict(os.environ, variables):
        code = _ended(words)
    return Done(code, out.getvalue(), "" if together else err.getvalue())


@contextmanager
def _signals_as_before() -> Iterator[None]:
    """Commands watch for Ctrl-C, and a process of their own would end with that."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ended(words: list[str]) -> int:
    program, *arguments = words
    argv = words if program == "trialwise" else arguments
    with patch.object(sys, "argv", argv), _signals_as_before():
        try:
            if program == "trialwise":
                runpy.run_path(COMMAND_LINE)["main"]()
            elif argv[0] == "-c":
                exec(argv[1], {"__name__": "__main__"})  # noqa: S102  what a page shows
            else:
                runpy.run_path(argv[0], run_name="__main__")
        except SystemExit as ending:
            return ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    return 0
