"""The order in which the treatments of a round run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from trialwise.design.seeds import generator
from trialwise.design.treatments import Treatment
from trialwise.experiment.model import Order

OrderOfRound = Literal["random", "fixed", "balanced"]
"""The rule that orders one round, recorded with each of its trials."""


def order_of_round(order: Order, seed: int, series: int, round_: int | str) -> OrderOfRound:
    """Return the rule of one round; `round_` is its number from 1, or a text for a warm-up round.

    "fixed+random" takes rounds in pairs, one fixed and one random, and which comes first is random for each pair, so that a
    slow drift affects both alike: if one half ran after the other, drift would pass for an effect of the order. Warm-up
    rounds are outside both halves and the squares, hence random.
    """
    if order in {"random", "fixed"}:
        return "fixed" if order == "fixed" else "random"
    if isinstance(round_, str):
        return "random"
    if order == "balanced":
        return "balanced"
    pair, second = divmod(round_ - 1, 2)
    fixed_is_second = generator(seed, "fixed+random", series, pair).random() < 0.5
    return "fixed" if bool(second) == fixed_is_second else "random"


def round_order(
    order: Order, treatments: Sequence[Treatment], seed: int, series: int, round_: int | str
) -> tuple[Treatment, ...]:
    """Return the treatments of one round in the order in which they run.

    "random" sorts the treatments by a number that each draws from a generator seeded by its name, so that a further
    treatment leaves the relative order of the others unchanged; all orders are equally likely. "balanced" rounds are
    rows of Williams squares (`williams_rows`), whose labels and rows are randomised for each square.
    """
    rule = order_of_round(order, seed, series, round_)
    if rule == "fixed":
        return tuple(treatments)
    if rule == "balanced" and not isinstance(round_, str):
        square, row = divmod(round_ - 1, rounds_in_block("balanced", len(treatments)))
        return _balanced(treatments, seed, series, square, row)
    return _shuffled(treatments, seed, series, round_)


def rounds_in_block(order: Order, treatments: int) -> int:
    """Return the number of rounds that belong together: a plan of the order is complete if its rounds are a multiple of it."""
    if order == "fixed+random":
        return 2
    if order != "balanced" or treatments == 1:
        return 1
    return treatments if treatments % 2 == 0 else 2 * treatments


def williams_rows(treatments: int) -> tuple[tuple[int, ...], ...]:
    """Return orders of the treatments in which each follows each other equally often (E. J. Williams 1949).

    The first row is 0, 1, T - 1, 2, T - 2, …; row i adds i modulo T. For an even T its T rows are enough: each
    ordered pair of neighbours occurs once. For an odd T the reversed rows are added, and each pair
    occurs twice. Each treatment is equally often at each position.
    """
    return tuple(
        tuple(_williams_row(treatments, row)) for row in range(rounds_in_block("balanced", treatments))
    )


def _williams_row(treatments: int, row: int) -> list[int]:
    places = range(treatments)
    zigzag = [(place + 1) // 2 if place % 2 else -(place // 2) for place in places]
    labels = [(step + row) % treatments for step in zigzag]
    return labels if row < treatments else labels[::-1]


def _balanced(
    treatments: Sequence[Treatment], seed: int, series: int, square: int, row: int
) -> tuple[Treatment, ...]:
    labels = _shuffled(treatments, seed, series, f"square {square}")
    rows = generator(seed, "rows", series, square).permutation(rounds_in_block("balanced", len(treatments)))
    return tuple(labels[label] for label in _williams_row(len(treatments), int(rows[row])))


def _shuffled(
    treatments: Sequence[Treatment], seed: int, series: int, round_: int | str
) -> tuple[Treatment, ...]:
    return tuple(
        sorted(
            treatments,
            key=lambda treatment: generator(seed, "order", series, round_, treatment.name).random(),
        )
    )
