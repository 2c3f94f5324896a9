"""When a trial between two ends began: the one zero of its packets, its reports and its path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trialwise.execution.ends.records import EndRecord
from trialwise.execution.ends.tasks import SILENCE
from trialwise.measurement.joining import Joined


@dataclass(frozen=True, slots=True)
class Beginning:
    """An instant by the clocks of the first end: CLOCK_MONOTONIC_RAW and CLOCK_MONOTONIC (ns), and seconds since the epoch."""

    raw: int
    monotonic: int
    realtime: float


def beginning_of(records: tuple[EndRecord, EndRecord], joined: Joined) -> Beginning:
    """Return when the earlier end let its flows begin: no packet of a flow can have left before.

    The other end begins once it hears of it. What a program of the earlier end sends may come there sooner. An end that hears nothing
    for `SILENCE` gives up, so a second end that says to have begun longer before did not tell it by the clock of its packets, and is
    not believed.
    """
    first, second = (record.head for record in records)
    own = int(first["began"])
    since = float(joined.second(np.array([int(second["began"])]))[0])
    sooner = max(own - (joined.clocks.origin + int(np.floor(since * 1e9))), 0)
    if sooner > SILENCE * 1e9:
        sooner = 0
    return Beginning(own - sooner, int(first["monotonic"]) - sooner, float(first["realtime"]) - sooner / 1e9)
