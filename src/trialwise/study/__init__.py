"""A study from its file to its analysis: composes the stages, and is, besides `cli`, the only package that sees them all."""

from trialwise.first_use import by_first_use

__getattr__, __dir__ = by_first_use(__name__, __file__)
