"""The samples of one trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Raw measurements inside one trial.

    Parameters
    ----------
    values
        Shape (n,), float64, in the unit of the reporting program; read-only.
    times
        Shape (n,), float64, seconds on the reporting program's clock; read-only. None if there are no times.

    Raises
    ------
    ValueError
        An array is not one-dimensional, or the two differ in length.
    """

    values: NDArray[np.float64]
    times: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _read_only(self.values))
        if self.times is None:
            return
        object.__setattr__(self, "times", _read_only(self.times))
        if len(self.times) != len(self.values):
            raise ValueError(f"{len(self.values)} values have {len(self.times)} times")

    def __len__(self) -> int:
        return len(self.values)


def _read_only(numbers: ArrayLike) -> NDArray[np.float64]:
    array = np.array(numbers, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"samples have one dimension, not {array.ndim}")
    array.flags.writeable = False
    return array
