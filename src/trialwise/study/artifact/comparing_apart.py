"""What `kept_outputs` starts as a process of its own: it imports little, and says one line for each number that it compared."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

from trialwise.execution.agreeing import compared, number_of
from trialwise.study.locating import opened
from trialwise.visible import visible

_LONGEST = 300


def main(folder: str, seconds: int, memory: int) -> None:
    """Compare in a process of its own: print how many numbers there are, then a line of JSON for each."""
    _limit(seconds, memory)
    with opened(Path(folder)) as (experiment, directory, ledger):
        _say(number_of(experiment, ledger))
        for each in compared(experiment, directory, ledger):
            _say([each.trial, each.outcome, visible(each.text[:_LONGEST])])


def _limit(seconds: int, memory: int) -> None:
    """Have the kernel end this process after so much processor time, and give it no more memory."""
    with contextlib.suppress(
        ImportError, OSError, ValueError
    ):  # a system without such limits, or with lower ones
        import resource

        for kind, most in (
            (resource.RLIMIT_CPU, seconds),
            (resource.RLIMIT_AS, memory),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _say(what: object) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
