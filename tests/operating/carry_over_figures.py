"""The figures of carry-over in docs/concepts/statistics.md.

`PYTHONPATH=tests .venv/bin/python tests/operating/carry_over_figures.py 100` prints them from so many simulated experiments each,
which the tests do not use.
"""

import sys
from collections.abc import Iterable, Iterator

import numpy as np

from order_data import Made, made
from trialwise import statistics as st

SEED = 51
RANDOM = {"balanced": False}
NAMED = {
    "a pair of 5 sd": {},
    "two of them": {"culprits": 2},
    "one, and drift": {"drift": 5.0},
    "one, and 14 of 144 trials lost": {"lost": 14},
    "a pair of 3 sd": {"effect": 3.0},
    "no pair": {"culprits": 0},
}
LASTING = {
    "one that lasts": {"culprits": 0, "lasting": 1, **RANDOM},
    "one that lasts, and drift": {"culprits": 0, "lasting": 1, "drift": 5.0, **RANDOM},
    "a pair": RANDOM,
    "nothing": {"culprits": 0, **RANDOM},
    "nothing, and drift": {"culprits": 0, "drift": 5.0, **RANDOM},
}
Pairs = set[tuple[str, str]]


def found_in(experiment: Made, confidence: float) -> tuple[Pairs, Pairs]:
    """The pairs and the lasting effects that are named."""
    result = st.carry_over(*experiment.arguments, confidence=confidence)
    return (
        {(one.treatment, one.predecessor) for one in result.pairs if one.named},
        {(one.treatment, one.earlier) for one in result.lasting if one.named},
    )


def experiments(repetitions: int, options: dict) -> Iterator[Made]:
    return (made([SEED, seed], **options) for seed in range(repetitions))


def shares(outcomes: Iterable[tuple[bool, bool]]) -> str:
    right, wrong = np.mean(list(outcomes), axis=0)
    return f"{100 * right:.0f} % | {100 * wrong:.0f} %"


def main(repetitions: int) -> None:
    sys.stdout.write(
        f"six treatments, 24 rounds, {repetitions} experiments | what was planted is named | something else is\n"
    )
    for what, options in NAMED.items():
        outcomes = (
            (one.planted <= pairs, bool(pairs - one.planted))
            for one in experiments(repetitions, options)
            for pairs, _ in [found_in(one, 98)]
        )
        sys.stdout.write(f"right after, balanced, 98 %: {what} | {shares(outcomes)}\n")
        sys.stdout.flush()
    for what, options in LASTING.items():
        outcomes = (
            (
                one.planted <= pairs and one.lasting <= lasting,
                bool(pairs - one.planted) or bool(lasting - one.lasting),
            )
            for one in experiments(repetitions, options)
            for pairs, lasting in [found_in(one, 95)]
        )
        sys.stdout.write(f"of both kinds, random, 95 %: {what} | {shares(outcomes)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
