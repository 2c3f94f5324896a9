"""SciPy's Anderson and Darling with midranks, by the argument of its version."""

from __future__ import annotations

import inspect

from scipy import stats

MIDRANKS = (
    {"variant": "midrank"}
    if "variant" in inspect.signature(stats.anderson_ksamp).parameters
    else {"midrank": True}
)
