"""Trialwise: performance experiments that replicate."""

__version__ = "0.1.0"
