"""How many hits may be found in a simulation whose rate is known, by chance alone."""

from scipy.stats import binom

LET_THROUGH = 0.99
"""The share of simulations, of those that have just the rate, that a limit lets through."""


def most(share, of):
    """The largest number of hits that is compatible with a probability of `share`, as a share of all."""
    return binom.ppf(LET_THROUGH, of, share) / of


def least(share, of):
    """The smallest number of hits that is compatible with a probability of `share`, as a share of all."""
    return 1 - most(1 - share, of)
