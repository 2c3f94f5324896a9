from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "__version__",
    "inversions",
    "lag_product_exceedances",
    "score_exceedances",
    "slope_order_statistics",
    "window_percentiles",
]

__version__: str

def window_percentiles(
    values: NDArray[np.float64], starts: NDArray[np.int64], ends: NDArray[np.int64], fraction: float
) -> NDArray[np.float64]: ...
def slope_order_statistics(
    x: NDArray[np.float64], y: NDArray[np.float64], ranks: Sequence[int]
) -> NDArray[np.float64]: ...
def inversions(values: NDArray[np.float64]) -> int: ...
def lag_product_exceedances(
    values: NDArray[np.float64], offset: float, threshold: float, *, shuffles: int | None, seed: int
) -> tuple[int, int]: ...
def score_exceedances(
    values: NDArray[np.float64], threshold: int, *, shuffles: int | None, seed: int
) -> tuple[int, int]: ...
