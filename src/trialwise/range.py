"""The range of values with powers that are representable in 64-bit floating point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trialwise.late import pl
from trialwise.numbers import about, as_given

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LARGEST = 1e70
SMALLEST = 1e-70
OTHER_UNIT = "give the values in another unit"


def beyond_range(values: ArrayLike) -> str:
    """Say which value is too large, or that all are too small, to compute their moments; empty if none is.

    Sums of fourth powers, used to assess tails, and squares of variances overflow beyond 1e77, and lose digits below 1e-77. Missing
    values are NaN.
    """
    given = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(given)
    if not finite.all():
        given = given[finite]
    largest = max(float(given.max(initial=0.0)), -float(given.min(initial=0.0)))
    if not largest:
        return ""
    if largest > LARGEST:
        return f"a value of the size {about(largest)} is beyond {as_given(LARGEST)}: its fourth power exceeds 64-bit numbers"
    if largest < SMALLEST:
        return f"all values are below {as_given(SMALLEST)} in size: their fourth powers lose all digits"
    return ""


def within_range(values: pl.Series) -> bool:
    """Return True if `beyond_range` has nothing to say of any part of these values, told without a copy of them."""
    is_small = values.is_between(-SMALLEST, SMALLEST, closed="none") & (values != 0)
    bounds = [bound for bound in (values.min(), values.max()) if isinstance(bound, float)]
    return not is_small.any() and max(map(abs, bounds), default=0.0) <= LARGEST
