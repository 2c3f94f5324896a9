"""Known means of flow lists, on which control variates rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from trialwise.arrays import Array

FEATURES = ("flows", "offered bytes", "largest flow")
"""Controls of the flow list itself, beside those of engines."""


@dataclass(frozen=True, slots=True)
class KnownMeans:
    """The controls of one metric by name, and their means over `lists` sampled flow lists.

    `engines` are those that some of the controls are of, and `drawn` the lists that each computed for this. Those that simulate list
    by list do so for fewer lists: `dear` are their controls, the last of `names`, in lists of their own, and `cheap` are the others in
    the same lists; `means` and `lists` are then of the others only. `seconds` are those that a list of all of them takes.
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    lists: int
    engines: tuple[str, ...] = ()
    drawn: tuple[int, ...] = ()
    cheap: Array | None = field(default=None, compare=False)
    dear: Array | None = field(default=None, compare=False)
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class PilotLists:
    """What trials and controls give for the same lists, drawn for nothing else, and what a list costs.

    `names` are the engine of the trials and those that simulate list by list, `seconds` those of a list of each. `trials` is what
    each list adds to the metric's estimating equation by the first: shape (lists,). `dear` are the controls of the others, in their
    order, and `cheap` those of the list itself and of batches, which cost next to nothing: shape (lists, controls).
    """

    names: tuple[str, ...]
    seconds: tuple[float, ...]
    trials: Array
    dear: Array
    cheap: Array
