//! Numeric loops that NumPy and SciPy cannot do fast: slices in, numbers out, nothing else.
