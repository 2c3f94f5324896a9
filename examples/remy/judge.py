"""Hold a table of rules against CUBIC and NewReno on networks that it was not trained on.

python examples/remy/judge.py --draws 200
python examples/remy/judge.py --draws 200 --scale 10    # at ten times the rates
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
from collections.abc import Sequence

import numpy as np

from worlds import draw, worth

RIVALS = ("cubic", "newreno")
FIRST = 1_000_000
"""Networks from this number on are not those of a training with the same seed."""


def values(scheme: str, seed: int, scale: float, number: int) -> float:
    """Return what a scheme is worth on a network."""
    return worth(draw(seed, FIRST + number, scale), scheme)


def judge(
    scheme: str, rivals: Sequence[str], draws: int, seed: int, scale: float, jobs: int
) -> dict[str, np.ndarray]:
    """Return what each scheme is worth on each of the same networks."""
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        return {
            name: np.array(pool.map(functools.partial(values, name, seed, scale), range(draws)))
            for name in (scheme, *rivals)
        }


def main() -> None:
    """Print how often the table is worth more, and what each is worth in the middle."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", default="trialwise-1x", help="a file, or the name of a table that ships")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="rates are so many times those of the training"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    scheme = f"remy:table={given.table}"
    found = judge(scheme, RIVALS, given.draws, given.seed, given.scale, given.jobs)
    for name, worths in found.items():
        print(f"{name}: worth {np.median(worths):.2f} in the median of {given.draws} networks")
    for rival in RIVALS:
        print(f"worth more than {rival}: {np.mean(found[scheme] > found[rival]):.1%}")


if __name__ == "__main__":
    main()
