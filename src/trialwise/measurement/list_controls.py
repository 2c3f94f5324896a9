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
    the same lists; `means` and `lists` are then of the others only.
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    lists: int
    engines: tuple[str, ...] = ()
    drawn: tuple[int, ...] = ()
    cheap: Array | None = field(default=None, compare=False)
    dear: Array | None = field(default=None, compare=False)
