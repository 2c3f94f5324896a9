"""Collection beside a trial: what programs report, where they ran, and what disturbed them.

`Point` and `Client` are for Python programs that are to be measured. They are imported on first access, because builds for
systems other than Linux have neither.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trialwise.measurement.client_counts import CloseReport, Counters
    from trialwise.measurement.points import Client, Point

__all__ = ["Client", "CloseReport", "Counters", "Point"]


def __getattr__(name: str) -> object:
    if name in ("CloseReport", "Counters"):
        from trialwise.measurement import client_counts

        return getattr(client_counts, name)
    if name in ("Client", "Point"):
        from trialwise.measurement import points

        return getattr(points, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
