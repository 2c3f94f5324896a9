"""What `kept_outputs` starts as a process of its own: it imports little, and says one line for each number that it compared."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path

from trialwise.execution.agreeing import compared, number_of
from trialwise.study.locating import opened
from trialwise.visible import visible

_LONGEST = 300


def main(folder: str, seconds: float, memory: int) -> None:
    """Compare in a process of its own: print how many numbers there are, then a line of JSON for each, until the time is over."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # a system without such limits
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    end = time.monotonic() + seconds
    with opened(Path(folder)) as (experiment, directory, ledger):
        _say(number_of(experiment, ledger))
        for each in compared(experiment, directory, ledger):
            _say([each.trial, each.outcome, visible(each.text[:_LONGEST])])
            if time.monotonic() > end:
                return


def _say(what: object) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
