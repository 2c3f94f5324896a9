"""Trials that are followed take as long as others, within a millisecond."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from trialwise._linux import run_command
from trialwise.statistics.comparing.signed_ranks import shift_of_pairs

PAIRS = 60
PATIENCE = 10.0
"""Seconds in which so many pairs have to be undisturbed."""
BOUND = 1e-3
"""Seconds: what following may cost in the median (docs/concepts/same-thing.md)."""


def seconds(words: list[str], *, follow: bool) -> float:
    run = run_command(words, environment=os.environ, working_directory="/", follow=follow)
    assert run.exit_code == 0
    assert (run.followed is not None) == follow
    return run.wall_ns / 1e9


@pytest.mark.alone
@pytest.mark.parametrize(
    "words",
    [["true"], ["sh", "-c", "true"], [sys.executable, "-IS", "-c", "sum(range(10**5))"]],
    ids=["program", "shell", "python"],
)
def test_what_following_costs_is_not_beyond_its_bound(words: list[str]):
    """In pairs, in random order. Fails where the interval of 99.9 % for the median difference lies beyond the bound.

    A pair counts while nothing else wants a processor: who is followed stops at each start of a program, and gets no
    processor back at once where others wait for one.
    """
    order = random.Random(5)
    differences: list[float] = []
    deadline = time.monotonic() + PATIENCE
    while len(differences) < PAIRS and time.monotonic() < deadline:
        taken = {follow: undisturbed(words, follow=follow) for follow in order.sample([False, True], 2)}
        if taken[True] is not None and taken[False] is not None:
            differences.append(taken[True] - taken[False])
    if len(differences) < PAIRS:
        pytest.skip(f"other processes left the machine alone for {len(differences)} of {PAIRS} pairs only")
    shift = shift_of_pairs(np.array(differences), 0.999)
    assert shift.low is not None
    assert shift.low < BOUND, shift


def undisturbed(words: list[str], *, follow: bool) -> float | None:
    """Seconds that the program took; None where others wanted a processor before or after it."""
    before = wanting()
    taken = seconds(words, follow=follow)
    return taken if before == wanting() == 0 else None


def wanting() -> int:
    """How many others run or want to (proc_loadavg(5))."""
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0]) - 1
