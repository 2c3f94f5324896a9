"""Known means of flow lists, on which control variates rest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownMeans:
    """The controls of one metric by name, their means over `lists` sampled flow lists, and whether one is of the fluid model."""

    names: tuple[str, ...]
    means: tuple[float, ...]
    lists: int
    fluid: bool
