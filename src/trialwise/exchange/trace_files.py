"""Link traces as files, in mahimahi's format, and made from what links carried: departures, logs, lists of rates.

They are here with the formats of other tools; functions of a trace in memory are in
`measurement.opportunities`, where trials use them too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.errors import AnalysisError
from trialwise.foreign_files import MEBIBYTE, read_foreign
from trialwise.measurement.opportunities import Trace
from trialwise.numbers import counted
from trialwise.whole_files import whole_file

LARGEST = 640 * MEBIBYTE
"""Maximum bytes: enough for the 50 million lines that a trace may have."""
_OPPORTUNITY_BITS = 12_000


def read_trace(path: Path) -> Trace:
    """Read a trace file.

    Raises
    ------
    AnalysisError
        The file cannot be read or is not a trace; the message names the wrong line and what to write.
    """
    return parse_trace(text_of(path), str(path))


def parse_trace(text: str, name: str) -> Trace:
    """Parse the text of a trace file; `name` is for messages.

    Raises
    ------
    AnalysisError
        It is not a trace.
    """
    try:
        return _core.parse_trace(text)
    except ValueError as error:
        raise _refusal(name, error) from error


def _refusal(name: str, error: ValueError) -> AnalysisError:
    problem, _, hint = str(error).partition("; ")
    return AnalysisError(f"{name}: {problem}", hint=hint or None)


def text_of(path: Path) -> str:
    """Return the text of a file of at most `LARGEST` bytes; raise AnalysisError if it cannot be read or is none."""
    content = read_foreign(path, LARGEST, pipe=True)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        hint = "a trace has one number of milliseconds in each line"
        raise AnalysisError(f"{path}: line {line} of the trace is not text", hint=hint) from error


def write_trace(path: Path, trace: Trace) -> None:
    """Write a trace file.

    Raises
    ------
    StoreError
        The file cannot be written.
    """
    with whole_file(path) as aside:
        aside.write_text(_core.format_trace(trace), encoding="utf-8")


def trace_from_rates(text: str, name: str) -> Trace:
    """Make a trace from a list of rates: each line holds the kilobits of one millisecond (12 is 12 Mbit/s), as for mm-rate-to-events.

    Each 12,000 bits are one opportunity, at the end of the millisecond that completes them.

    Parameters
    ----------
    text
        The list.
    name
        Its name in messages.

    Raises
    ------
    AnalysisError
        A line is not a number of at least 0, or all together make no opportunity.
    """
    bits = np.array(
        [1000 * _rate(line, number, name) for number, line in enumerate(text.splitlines(), start=1)]
    )
    whole = np.floor(np.cumsum(bits) / _OPPORTUNITY_BITS + 1e-9).astype(np.int64)
    times = np.repeat(np.arange(1, bits.size + 1, dtype=np.uint64), np.diff(whole, prepend=0))
    return _checked(times, name, "the rates together are less than 12 kbit, one full packet")


def _rate(line: str, number: int, name: str) -> float:
    try:
        value = float(line)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        hint = "write the kilobits of one millisecond in each line: 12 is 12 Mbit/s"
        raise AnalysisError(f"{name}: line {number} is `{line[:40]}`, not a rate", hint=hint)
    return value


def _checked(times: npt.NDArray[np.uint64], name: str, if_empty: str) -> Trace:
    if not times.size:
        raise AnalysisError(f"{name}: {if_empty}", hint="choose more of it")
    try:
        return _core.parse_trace(_core.format_trace(times))
    except ValueError as error:
        raise _refusal(name, error) from error


def trace_from_opportunities(milliseconds: npt.NDArray[np.int64], base: int, name: str) -> Trace:
    """Make a trace from the opportunities in a log, counted from `base`.

    Raises
    ------
    AnalysisError
        There is no opportunity after `base`.
    """
    times = np.sort(milliseconds) - base
    return _checked(times[times >= 0].astype(np.uint64), name, "there is no opportunity")


def trace_from_departures(
    nanoseconds: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], name: str
) -> Trace:
    """Make a trace of a link that a saturating sender filled: an opportunity for each 1500 bytes that departed.

    Time counts from the first departure, whose own bytes left before it and are not counted.

    Parameters
    ----------
    nanoseconds, sizes
        Departure times of IP packets, and their bytes; in any order.
    name
        Their origin, for messages.

    Raises
    ------
    AnalysisError
        Fewer than 1500 bytes follow the first departure, or all departed at one instant.
    """
    order = np.argsort(nanoseconds, kind="stable")
    times = nanoseconds[order] - (nanoseconds.min() if nanoseconds.size else 0)
    try:
        return _core.trace_from_departures(
            times[1:].astype(np.uint64), sizes[order][1:].astype(np.uint64), mahimahi=False
        )
    except ValueError as error:
        problem = f"{counted(int(nanoseconds.size), 'packet')} departed, too few for a trace"
        raise AnalysisError(
            f"{name}: {problem}", hint="choose other packets, or record for longer"
        ) from error
