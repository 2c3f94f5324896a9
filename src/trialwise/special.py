"""The functions of scipy.special that are used, without what their import brings along.

SciPy clones the names of NumPy for its array interface, and so imports parts that NumPy itself imports when they are first used: the
generator of Fortran interfaces, assertions of tests, masked arrays, polynomials. That is a third of the time that scipy.special takes.
"""

import numpy as np

_numpy = np.__dict__
_kept = {name: _numpy[name] for name in ("__all__", "__dir__")}
_imported = [name for name in np.__all__ if name in _numpy]
_numpy.update(__all__=_imported, __dir__=lambda: _imported)
try:
    from scipy.special import (
        betainc,
        betaincinv,
        betaln,
        binom,
        chdtrc,
        chdtri,
        erfc,
        fdtrc,
        fdtri,
        gammaincc,
        gammainccinv,
        gammaincinv,
        gammaln,
        ncfdtr,
        nctdtr,
        nctdtrinc,
        ndtr,
        ndtri,
        stdtr,
        stdtrit,
        xlog1py,
        xlogy,
    )
finally:
    _numpy.update(_kept)

__all__ = [
    "betainc",
    "betaincinv",
    "betaln",
    "binom",
    "chdtrc",
    "chdtri",
    "erfc",
    "fdtrc",
    "fdtri",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "ncfdtr",
    "nctdtr",
    "nctdtrinc",
    "ndtr",
    "ndtri",
    "stdtr",
    "stdtrit",
    "xlog1py",
    "xlogy",
]
