"""Packets that both ends stamped, each with its own clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise.arrays import Integers
from trialwise.errors import AnalysisError
from trialwise.numbers import as_given

_LATEST = 2.0**62
"""Nanoseconds whose differences fit into 63 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """Packets of one direction that arrived, in the order in which they were sent; probes or data.

    Attributes
    ----------
    sent
        Nanoseconds of the clock of the end that sent.
    received
        Nanoseconds of the clock of the other end.
    """

    sent: Integers
    received: Integers

    @staticmethod
    def of(sent: npt.ArrayLike, received: npt.ArrayLike) -> Probes:
        """Return probes from any arrays of nanoseconds.

        Raises
        ------
        AnalysisError
            The arrays are not of one length, or hold a value that is not a time in nanoseconds.
        """
        probes = Probes(_nanoseconds(sent), _nanoseconds(received))
        if probes.sent.size != probes.received.size:
            raise AnalysisError(
                f"{probes.sent.size} probes were sent and {probes.received.size} received",
                hint="give both stamps of each probe that arrived",
            )
        return probes

    def __len__(self) -> int:
        return self.sent.size


def _nanoseconds(values: npt.ArrayLike) -> Integers:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iuf"):
        raise AnalysisError("stamps of probes must be one row of numbers")
    wrong = ~(np.abs(array.astype(np.float64)) < _LATEST)
    if wrong.any():
        place = int(wrong.argmax())
        raise AnalysisError(
            f"stamp {place + 1} is {array[place]}, which is not a time in nanoseconds",
            hint="leave out packets that one end did not see",
        )
    return (np.rint(array) if array.dtype.kind == "f" else array).astype(np.int64)


def check_running(sent: Integers, end: str) -> None:
    """Reject stamps of one end that go back from one packet to the next.

    Raises
    ------
    AnalysisError
        They do.
    """
    back = np.diff(sent) < 0
    if back.any():
        place = int(back.argmax())
        by = int(sent[place] - sent[place + 1]) / 1e9
        raise AnalysisError(
            f"the clock of the {end} end goes back by {as_given(by)} s at probe {place + 2}",
            hint="stamp with a clock that is never set, such as CLOCK_MONOTONIC_RAW, and list probes as they were sent",
        )
