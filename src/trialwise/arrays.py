"""Array types shared by modules."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
"""Floating-point numbers of any shape."""
Mask = npt.NDArray[np.bool_]
"""Which entries are selected."""
Integers = npt.NDArray[np.int64]
"""Integers, such as counts, codes and indices."""
