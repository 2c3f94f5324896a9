"""Statistics: pure functions, arrays in, frozen results out.

Each method of a paper is available as published (`method="paper"`); if a better one is known, it is the default. Percentiles and
confidences are in percent.
"""

from trialwise.first_use import by_first_use

__getattr__, __dir__ = by_first_use(__name__, __file__)
