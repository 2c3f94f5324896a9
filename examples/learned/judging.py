"""What policies come to on links that no training saw, and what both trainings take from the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from multiprocessing.pool import Pool
from typing import TypeAlias

import numpy as np
from links import Found

FIRST_CHECKED, FIRST_JUDGED = 1_000_000, 2_000_000
"""Links from these numbers on are those that the best is chosen on, and those that are only judged on."""
SCALES = (1.0, 10.0)
SEEDS = (1, 2, 3)
Task: TypeAlias = tuple[object, int, int, float]
"""A controller or policy; seed, number and scale of a link."""


def judge(schemes: Mapping[str, object], found: Callable[[Task], Found], draws: int, pool: Pool) -> None:
    """Print what each scheme comes to, as `found` says it of a task."""
    print(f"mean of three sets of {draws} links, with the least and the largest mean of a set")
    for scale in SCALES:
        heads = ("reward", "share of link", "round trip / base", "loss")
        print(f"\nrates times {scale:g}\n{'scheme':<20} " + " ".join(f"{head:>24}" for head in heads))
        for name, what in schemes.items():
            tasks = [(what, seed, FIRST_JUDGED + number, scale) for seed in SEEDS for number in range(draws)]
            each = np.array(pool.map(found, tasks, chunksize=1)).reshape(len(SEEDS), draws, -1)
            sets = each.mean(axis=1)
            columns = [
                f"{sets[:, at].mean():.{places}f} ({sets[:, at].min():.{places}f} to {sets[:, at].max():.{places}f})"
                for at, places in enumerate((2, 3, 2, 4))
            ]
            print(f"{name:<20} " + " ".join(f"{column:>24}" for column in columns), flush=True)


def count(text: str) -> int:
    """Return a whole number of at least 1; raise ArgumentTypeError for any other text."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
