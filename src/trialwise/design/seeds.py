"""Random generators whose seeds derive from names."""

from __future__ import annotations

import numpy as np

from trialwise.experiment.seeds import seed_of

__all__ = ["generator", "seed_of"]


def generator(root: int, *names: str | int) -> np.random.Generator:
    """Return the random generator (PCG64DXSM) of the part of an experiment that `names` identify."""
    return np.random.Generator(np.random.PCG64DXSM(seed_of(root, *names)))
