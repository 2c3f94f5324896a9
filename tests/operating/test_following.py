"""Trials that are followed take as long as others, within a millisecond."""

from __future__ import annotations

import os
import random
import sys

import numpy as np
import pytest

from trialwise._core import run_command
from trialwise.statistics.signed_ranks import shift_of_pairs

PAIRS = 60
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
    """In pairs, in random order. Fails where the interval of 99.9 % for the median difference lies beyond the bound."""
    order = random.Random(5)
    differences: list[float] = []
    for _ in range(PAIRS):
        taken = {follow: seconds(words, follow=follow) for follow in order.sample([False, True], 2)}
        differences.append(taken[True] - taken[False])
    shift = shift_of_pairs(np.array(differences), 0.999)
    assert shift.low is not None
    assert shift.low < BOUND, shift
