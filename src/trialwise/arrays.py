"""The types of arrays that modules share."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
"""Floating-point numbers of any shape."""
Mask = npt.NDArray[np.bool_]
"""Which entries are meant."""
Integers = npt.NDArray[np.int64]
"""Whole numbers, such as counts, codes and places."""
