"""Collection beside a trial: what programs report, where they ran, and what disturbed them.

`Point` and `Client` are for Python programs that want to be measured.
"""

from trialwise.measurement.client_counts import CloseReport, Counters
from trialwise.measurement.points import Client, Point

__all__ = ["Client", "CloseReport", "Counters", "Point"]
