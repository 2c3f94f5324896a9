"""In what order the treatments of a round run."""

from __future__ import annotations

from collections.abc import Sequence

from trialwise.design.seeds import generator
from trialwise.design.treatments import Treatment
from trialwise.experiment.model import Order


def round_order(
    order: Order, treatments: Sequence[Treatment], seed: int, series: int, round_: int | str
) -> tuple[Treatment, ...]:
    """The treatments of one round in the order in which they run.

    "random" sorts the treatments by a number that each draws from a generator of its own name, so that a further
    treatment leaves the relative order of the others as it was; all orders are equally likely.
    """
    if order == "fixed":
        return tuple(treatments)
    return tuple(
        sorted(
            treatments,
            key=lambda treatment: generator(seed, "order", series, round_, treatment.name).random(),
        )
    )
