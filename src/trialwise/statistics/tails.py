"""When tails of a distribution are looked for; apart from how, so that a short run need not load that."""

FEWEST = 10
"""Minimum number of trials to look for a tail: among fewer, similar ones, a single one contributes nearly all of the variance."""
