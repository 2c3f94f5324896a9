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


def beside_a_culprit(seed: int, size: float, treatments: int = 4, rounds: int = 24) -> Made:
    """Program 0 slows whatever runs right after it by so many standard deviations."""
    random = np.random.default_rng([SEED, seed])
    rows = random.permuted(np.tile(np.arange(treatments), (rounds, 1)), axis=1)
    values = 100 + random.normal(size=rows.shape)
    values[:, 1:] += size * (rows[:, :-1] == 0)
    return _made(rows, values, {(f"t{other}", "t0") for other in range(1, treatments)})


def cold(seed: int, rounds: int, treatments: int = 3) -> Made:
    """The first trial of each round is slower by 20 standard deviations, and nothing else matters."""
    random = np.random.default_rng([SEED, seed])
    rows = random.permuted(np.tile(np.arange(treatments), (rounds, 1)), axis=1)
    values = 100 + random.normal(size=rows.shape)
    values[:, 0] += 20
    return _made(rows, values, set())


def _made(rows: np.ndarray, values: np.ndarray, planted: Pairs) -> Made:
    positions, turns = np.meshgrid(np.arange(rows.shape[1]), np.arange(rows.shape[0]))
    names = [f"t{place}" for place in rows.ravel()]
    return Made(values.ravel(), names, turns.ravel(), positions.ravel(), planted, set())


def culprits(one: Made) -> tuple[bool, bool]:
    """Whether a culprit that was planted is named, and another program."""
    pairs, lasting = found_in(one, 95)
    blamed, guilty = {other for _, other in pairs | lasting}, {other for _, other in one.planted}
    return bool(blamed & guilty), bool(blamed - guilty)


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
    for size in (1.5, 3.0):
        outcomes = (culprits(beside_a_culprit(seed, size)) for seed in range(repetitions))
        sys.stdout.write(f"four treatments, one slows the next by {size} sd | {shares(outcomes)}\n")
    for rounds in (15, 24):
        outcomes = (culprits(cold(seed, rounds)) for seed in range(repetitions))
        sys.stdout.write(f"three treatments, {rounds} rounds, the first trial slow | {shares(outcomes)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
