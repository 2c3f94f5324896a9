"""Texts of what others recorded of paths: their lines, times and numbers, and a recording of a list of rates."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError
from trialwise.measurement.packets import Direction
from trialwise.measurement.recordings import RATE, Recording, Steps, Way, silences
from trialwise.numbers import as_given, counted

Series = TypeVar("Series")
MOST_ROWS = 5_000_000
MOST_RATE = 1e15
"""Bit/s."""
GAP = 5
"""Median steps from which a gap is reported."""
_MOST_TIME = 1e10


@dataclass(frozen=True, slots=True)
class Source:
    """A text with its name, for messages."""

    text: str
    name: str

    @property
    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not empty, with their numbers."""
        for number, line in enumerate(self.text.splitlines(), start=1):
            if number > MOST_ROWS:
                raise AnalysisError(f"{self.name}: more than {MOST_ROWS} lines", hint="cut it into parts")
            if line.strip():
                yield number, line

    def wrong(self, number: int, problem: str, hint: str | None = None) -> AnalysisError:
        """Return the error of a line."""
        return AnalysisError(f"{self.name}: line {number} {problem}", hint=hint)


@dataclass(frozen=True, slots=True)
class Options:
    """How texts are to be read.

    Attributes
    ----------
    direction
        The direction of rates of a list.
    interval
        Milliseconds of a line of LeoReplayer's delays.
    round_trip
        Whether its delays are round trips, of which half goes each way.
    delays
        Its files of delays.
    rate
        The rate in bit/s where a source has none.
    select
        Which of several series in one file: `UNIT,TARGET` of FCC.
    columns
        Where a table has what: `time=…,time_unit=…,rate=…,unit=…`.
    """

    direction: Direction = "downlink"
    interval: float = 10.0
    round_trip: bool = False
    delays: Sequence[Source] = ()
    rate: float | None = None
    select: str | None = None
    columns: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A recording, and what is to be known of how it was read."""

    recording: Recording
    notes: tuple[str, ...] = ()


def chosen_series(file: str, series: Mapping[str, Series], select: str | None, what: str) -> Series:
    """Return the series that is selected, or the only one; raise AnalysisError if there is none such."""
    names = list(series)
    if select is None and len(names) == 1:
        return series[names[0]]
    if select is not None and select in series:
        return series[select]
    shown = "; ".join(names[:5]) + (" …" if len(names) > 5 else "")
    raise AnalysisError(
        f"{file}: has {len(names)} series of {what}", hint=f"choose one with --select: {shown}"
    )


def alone(texts: Sequence[Source]) -> tuple[Source]:
    """Return the only text; raise AnalysisError if there are several."""
    if len(texts) != 1:
        raise AnalysisError(f"{len(texts)} files", hint="name the one to read")
    return (texts[0],)


def of_ways(ways: Mapping[str, Way], length: float = 0.0) -> Recording:
    """Return a recording that is as long as its longest direction, at least `length` ms."""
    times = [float(way.opportunities[-1]) for way in ways.values() if way.opportunities is not None]
    return Recording(ways.get("uplink", Way()), ways.get("downlink", Way()), max([length, *times]))


def of_rates(
    text: Source, times: npt.NDArray[np.float64], rates: npt.NDArray[np.float64], options: Options
) -> Found:
    """Return a list of rates (ms, bit/s) as steps of one direction; each holds to the next, the last for a median step."""
    times = growing(text, times)
    if not (rates > 0).any():
        raise AnalysisError(f"{text.name}: no rate is above 0")
    if rates.max() > MOST_RATE:
        raise AnalysisError(f"{text.name}: a rate of {rates.max():.3g} bit/s", hint="check its unit")
    way = Way({RATE: changes(times, np.rint(rates))})
    length = float(times[-1]) + median_step(times)
    notes = far_apart(times)
    notes += [f"{options.direction}: {said}" for said in silences(way, length)]
    return Found(of_one(way, options.direction, length), tuple(notes))


def far_apart(times: npt.NDArray[np.float64]) -> list[str]:
    """Say where values (ms) are far apart, if they are anywhere."""
    step = median_step(times)
    gaps = np.flatnonzero(np.diff(times) > GAP * step)
    if not gaps.size:
        return []
    at = times[gaps[0]] / 1000
    return [
        f"{counted(int(gaps.size), 'gap')} of more than {GAP} median steps ({step:g} ms), the first at {at:.4g} s"
    ]


def regular(count: int, step: float) -> npt.NDArray[np.float64]:
    """Return so many times in steps (ms)."""
    return np.arange(count, dtype=np.float64) * np.float64(step)


def of_one(way: Way, direction: Direction, length: float) -> Recording:
    """Return a recording of one direction, `length` ms long."""
    return Recording(way, Way(), length) if direction == "uplink" else Recording(Way(), way, length)


def growing(text: Source, times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return times (ms) since the first; raise AnalysisError if they do not grow, or not by so much."""
    if not times.size:
        raise AnalysisError(f"{text.name}: has no line")
    back = np.flatnonzero(np.diff(times) <= 0)
    if back.size:
        raise AnalysisError(
            f"{text.name}: its time does not grow at value {int(back[0]) + 2}",
            hint="sort it, and keep one value for each time",
        )
    if times[-1] - times[0] > _MOST_TIME:
        raise AnalysisError(f"{text.name}: it is longer than 115 days", hint="check the unit of its times")
    return times - times[0]


def median_step(times: npt.NDArray[np.float64]) -> float:
    """Return the median of the steps between times (ms)."""
    return float(np.median(np.diff(times))) if times.size > 1 else 1000.0


def changes(times: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> Steps:
    """Return the steps at which values change."""
    kept = np.concatenate([[True], np.diff(values) != 0])
    return Steps(times[kept], values[kept])


def number_of(text: Source, number: int, cell: str, most: float) -> float:
    """Return the number from 0 to `most` in a cell; raise AnalysisError if it is none."""
    try:
        value = float(cell)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise text.wrong(number, f"has `{cell[:40]}` where a number from 0 to {as_given(most)} should be")
    return value


def cells_of(text: Source, number: int, line: str, count: int) -> list[float]:
    """Return the `count` numbers of a line, apart by commas, semicolons or blanks."""
    cells = [cell for cell in re.split(r"[,;\s]+", line.strip()) if cell]
    if len(cells) != count:
        raise text.wrong(number, f"has {len(cells)} fields, not {count}")
    return [number_of(text, number, cell, 1e18) for cell in cells]


def rows_of(text: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table whose fields are set apart by commas, semicolons, tabs or blanks, as its first line has them."""
    lines = text.lines
    first = next(lines, None)
    if first is None:
        return
    delimiter = next((mark for mark in (",", ";", "\t") if mark in first[1]), None)
    for number, line in [first]:
        yield number, _fields(text, number, line, delimiter)
    for number, line in lines:
        yield number, _fields(text, number, line, delimiter)


def _fields(text: Source, number: int, line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    try:
        return next(csv.reader([line], delimiter=delimiter))
    except csv.Error as error:
        raise text.wrong(number, f"is no line of a table: {error}") from error


def is_date(cell: str, form: str) -> bool:
    """Return True if a cell is a date of this form."""
    try:
        datetime.strptime(cell.strip(), form)
    except ValueError:
        return False
    return True


def moment_of(text: Source, number: int, cell: str, form: str) -> float:
    """Return a date without a zone in ms."""
    try:
        return (datetime.strptime(cell.strip(), form) - datetime(1970, 1, 1)).total_seconds() * 1000
    except ValueError as error:
        raise text.wrong(
            number,
            f"has `{cell[:40]}` where a time like {datetime(2019, 12, 16, 13, 40, 4):{form}} should be",
        ) from error
