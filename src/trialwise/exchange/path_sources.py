"""What others recorded of paths, by where it comes from: texts of their files to a recording.

Each source is a function and a line of `SOURCES`. The formats are those that the named programs and data sets have. Units are those
of the source; a table without one must be given it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError
from trialwise.exchange.trace_files import parse_trace
from trialwise.measurement.opportunities import of_trace
from trialwise.measurement.packets import DIRECTIONS, Direction
from trialwise.measurement.recordings import DELAY, RATE, Recording, Steps, Way, silences
from trialwise.numbers import as_given, counted

MOST_ROWS = 5_000_000
GAP = 5
"""Median steps from which a gap is reported."""
_RATE_UNITS = {
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "Gbit/s": 1e9,
    "B/s": 8.0,
    "kB/s": 8e3,
    "MB/s": 8e6,
}
_TIME_UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
_MOST_RATE, _MOST_TIME, _MOST_DELAY = 1e15, 1e10, 3.6e9
_OPPORTUNITY_BITS, _MOST_OPPORTUNITIES = 12_000, 50_000_000
_LEVELS, _DWELL = 8, 100.0


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


def mahimahi(texts: Sequence[Source], options: Options) -> Found:
    """Traces of mm-link: one text for one direction, or that of the uplink and that of the downlink."""
    ways, notes = _opportunities(texts, options)
    return Found(_of_ways(ways), notes)


def _opportunities(texts: Sequence[Source], options: Options) -> tuple[dict[str, Way], tuple[str, ...]]:
    """Return each direction, a shorter trace repeated as mm-link does to the length of the longer, and notes on that."""
    if len(texts) > len(DIRECTIONS):
        raise AnalysisError(
            f"{len(texts)} traces", hint="name one, or that of the uplink and that of the downlink"
        )
    names = DIRECTIONS if len(texts) > 1 else (options.direction,)
    found = [parse_trace(each.text, each.name) for each in texts]
    length = max(int(times[-1]) for times in found)
    shorter = [
        Path(each.name).name for each, times in zip(texts, found, strict=True) if int(times[-1]) < length
    ]
    notes = tuple(f"{name} is shorter and repeated up to {length} ms" for name in shorter)
    if shorter and any(times.size * (length // int(times[-1])) > _MOST_OPPORTUNITIES for times in found):
        raise AnalysisError(
            f"{', '.join(shorter)}: repeated up to {length} ms, it has more than 50 million opportunities",
            hint="cut the longer one",
        )
    whole = [of_trace(times, -1, length) for times in found]
    return {name: Way(opportunities=times) for name, times in zip(names, whole, strict=True)}, notes


def leoreplayer(texts: Sequence[Source], options: Options) -> Found:
    """Traces of LeoReplayer: `bw_*.txt` for the uplink and the downlink, and `delay_*.txt`, a whole millisecond in each line."""
    ways, notes = _opportunities(texts, options)
    if not options.delays:
        return Found(_of_ways(ways), notes)
    if len(options.delays) > len(DIRECTIONS):
        raise AnalysisError("more than two files of delays", hint="name one for both ways, or one each")
    delays = [_delays_of_lines(each, options) for each in options.delays]
    both = dict(zip(DIRECTIONS, delays * (2 if len(delays) == 1 else 1), strict=True))
    for name, steps in both.items():
        ways[name] = replace(ways.get(name, Way()), steps={DELAY: steps})
    length = max(sum(1 for _ in text.lines) for text in options.delays) * options.interval
    meant = "half a round trip" if options.round_trip else "one way"
    note = f"a line of delays is {options.interval:g} ms and {meant}, as told; loss is not in the files"
    return Found(_of_ways(ways, length), (*notes, note))


def _delays_of_lines(text: Source, options: Options) -> Steps:
    values = np.array([_number(text, number, line.strip(), 3_600_000) for number, line in text.lines])
    if not values.size:
        raise AnalysisError(f"{text.name}: has no delay")
    values = values * (500.0 if options.round_trip else 1000.0)
    return _changes(_regular(values.size, options.interval), values)


def hypatia(texts: Sequence[Source], options: Options) -> Found:
    """A round trip of Hypatia over time, `networkx_rtt_A_to_B.txt` (`time_ns,rtt_ns`): half each way; 0 where there is no route."""
    (text,) = _alone(texts)
    rows = [_cells(text, number, line, 2) for number, line in text.lines]
    table = np.array(rows).reshape(-1, 2)
    times = _growing(text, table[:, 0] / 1e6)
    reached = table[:, 1] > 0
    if not reached.any():
        raise AnalysisError(f"{text.name}: no round trip is above 0")
    delays = _changes(times[reached], table[reached, 1] / 2 / 1000)
    states = _changes(times, np.where(reached, 0.0, 1.0))
    steps = {DELAY: delays} | ({"state": states} if not reached.all() else {})
    notes = ("where the round trip is 0, no route: nothing arrives",) if not reached.all() else ()
    if options.rate is not None:
        steps[RATE] = Steps(np.zeros(1), np.array([options.rate]))
    else:
        notes = (*notes, "no rate: it is not in the file; --rate gives one")
    way = Way(steps)
    return Found(Recording(way, way, float(times[-1]) + _median_step(times)), notes)


def pensieve(texts: Sequence[Source], options: Options) -> Found:
    """Pensieve's `time rate` in seconds and Mbit/s."""
    (text,) = _alone(texts)
    table = np.array([_cells(text, number, line, 2) for number, line in text.lines]).reshape(-1, 2)
    return _of_rates(text, table[:, 0] * 1000, table[:, 1] * 1e6, options)


def fcc(texts: Sequence[Source], options: Options) -> Found:
    """FCC's raw webget table: unit, time, target, address, …, bytes per second (fields 0, 1, 2, 6), a line each 5 s."""
    (text,) = _alone(texts)
    series: dict[str, list[tuple[float, float]]] = {}
    for number, cells in _table(text):
        if number == 1 and not _is_date(cells[1] if len(cells) > 1 else "", "%Y-%m-%d %H:%M:%S"):
            continue
        if len(cells) <= 6:
            raise text.wrong(number, f"has {len(cells)} fields, not 7 or more")
        time = _moment(text, number, cells[1], "%Y-%m-%d %H:%M:%S")
        value = _number(text, number, cells[6], _MOST_RATE / 8)
        series.setdefault(f"{cells[0].strip()},{cells[2].strip()}", []).append((time, value * 8))
    chosen = _chosen(text, series, options)
    rates = np.array([value for _, value in chosen])
    return _of_rates(text, _regular(rates.size, 5000.0), rates, options)


def _chosen(
    text: Source, series: Mapping[str, list[tuple[float, float]]], options: Options
) -> list[tuple[float, float]]:
    names = list(series)
    if options.select is None and len(names) == 1:
        return series[names[0]]
    if options.select is not None and options.select in series:
        return series[options.select]
    shown = "; ".join(names[:5]) + (" …" if len(names) > 5 else "")
    raise AnalysisError(
        f"{text.name}: has {len(names)} series of unit and target", hint=f"choose one with --select: {shown}"
    )


def fcc_cooked(texts: Sequence[Source], options: Options) -> Found:
    """FCC's cooked traces: bytes per second, a line each 5 s."""
    (text,) = _alone(texts)
    rates = np.array([8 * _number(text, number, line.strip(), _MOST_RATE / 8) for number, line in text.lines])
    return _of_rates(text, _regular(rates.size, 5000.0), rates, options)


def norway(texts: Sequence[Source], options: Options) -> Found:
    """Norway's HSDPA, cooked: time (ms), bytes, duration (ms) in fields 0, 1 and 2; it ends where the time falls back."""
    return _of_durations(texts, options, (0, 1, 2))


def belgium(texts: Sequence[Source], options: Options) -> Found:
    """Belgium's 4G: time (ms), bytes, duration (ms) in fields 1, 4 and 5."""
    return _of_durations(texts, options, (1, 4, 5))


def _of_durations(texts: Sequence[Source], options: Options, fields: tuple[int, int, int]) -> Found:
    (text,) = _alone(texts)
    times: list[float] = []
    rates: list[float] = []
    notes: tuple[str, ...] = ()
    for number, line in text.lines:
        cells = line.split()
        if len(cells) <= max(fields):
            raise text.wrong(number, f"has {len(cells)} fields, not {max(fields) + 1} or more")
        time, size, duration = (_number(text, number, cells[field], 1e15) for field in fields)
        if times and time <= times[-1]:
            notes = (f"line {number} goes back in time: what follows is left out",)
            break
        if duration <= 0:
            raise text.wrong(number, f"has a duration of {duration:g} ms")
        times.append(time)
        rates.append(size * 8000 / duration)
    found = _of_rates(text, np.array(times), np.array(rates), options)
    return replace(found, notes=(*notes, *found.notes))


def irish(texts: Sequence[Source], options: Options) -> Found:
    """The Irish 4G and 5G tables (G-NetTrack): rates of downloads, kbit/s in whole seconds.

    Lines whose stamp repeats are spread over its second.
    """
    (text,) = _alone(texts)
    rows = _table(text)
    _, header = next(rows, (0, list[str]()))
    places = {name.strip().lower(): place for place, name in enumerate(header)}
    needed = ("timestamp", "dl_bitrate", "state")
    if any(name not in places for name in needed):
        raise text.wrong(1, "does not name the columns Timestamp, DL_bitrate and State")
    stamps: list[float] = []
    rates: list[float] = []
    missing = 0
    for number, cells in rows:
        if len(cells) <= max(places[name] for name in needed):
            raise text.wrong(number, f"has {len(cells)} fields, not {len(header)}")
        if cells[places["state"]].strip() != "D":
            continue
        rate = cells[places["dl_bitrate"]].strip()
        if rate == "-":
            missing += 1
            continue
        stamps.append(_moment(text, number, cells[places["timestamp"]], "%Y.%m.%d_%H.%M.%S"))
        rates.append(_number(text, number, rate, _MOST_RATE / 1e3) * 1e3)
    if not stamps:
        raise AnalysisError(f"{text.name}: has no line of a download (State D) with a rate")
    if (np.diff(stamps) < 0).any():
        raise AnalysisError(f"{text.name}: its time goes back", hint="cut it there: the table of one run")
    times, repeated = _spread(np.array(stamps))
    found = _of_rates(text, times, np.array(rates), replace(options, direction="downlink"))
    notes = ["rates are those of a program that downloads: the path may carry more"]
    notes += [f"{repeated} stamps repeat: their lines are spread over the second"] if repeated else []
    notes += [f"{counted(missing, 'line')} without a rate left out"] if missing else []
    return replace(found, notes=(*notes, *found.notes))


def _spread(stamps: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], int]:
    """Return the times (ms) of stamps in whole seconds, those of the same one spread evenly, and how many repeat."""
    seconds, places, counts = np.unique(stamps, return_inverse=True, return_counts=True)
    ranks = np.arange(stamps.size) - np.concatenate([[0], np.cumsum(counts)])[places]
    return stamps + ranks * 1000.0 / counts[places], int(stamps.size - seconds.size)


def columns(texts: Sequence[Source], options: Options) -> Found:
    """Any table: its columns and units are named, such as those of MONROE."""
    (text,) = _alone(texts)
    wanted = _wanted(options.columns)
    rows = _table(text)
    number, first = next(rows, (0, list[str]()))
    if not first:
        raise AnalysisError(f"{text.name}: is empty")
    places = {key: _place(text, number, name, first) for key, name in wanted.items() if key in _COLUMNS}
    has_header = not all(_is_number(first[place]) for place in places.values())
    lines = rows if has_header else _table(text)
    found = {key: list[float]() for key in places}
    for number, cells in lines:
        for key, place in places.items():
            if place >= len(cells):
                raise text.wrong(
                    number, f"has {len(cells)} fields, and column {key} would be number {place + 1}"
                )
            found[key].append(_number(text, number, cells[place].strip(), 1e18))
    times = np.array(found["time"]) * _unit(wanted, "time_unit", _TIME_UNITS)
    rates = np.array(found["rate"]) * _unit(wanted, "unit", _RATE_UNITS)
    return _of_rates(text, times, rates, options)


_COLUMNS = ("time", "rate")


def _wanted(text: str | None) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for pair in (text or "").split(","):
        key, _, value = pair.partition("=")
        pairs |= {key.strip(): value.strip()} if pair.strip() else {}
    missing = [key for key in ("time", "time_unit", "rate", "unit") if not pairs.get(key)]
    unknown = [key for key in pairs if key not in {"time", "time_unit", "rate", "unit"}]
    if missing or unknown:
        problem = f"unknown {unknown[0]}" if unknown else f"{missing[0]} is missing"
        raise AnalysisError(
            f"--columns {text or ''}: {problem}",
            hint="write where times and rates are and their units, as in --columns time=ts,time_unit=s,rate=dl,unit=Mbit/s",
        )
    return pairs


def _unit(wanted: Mapping[str, str], key: str, known: Mapping[str, float]) -> float:
    if wanted[key] not in known:
        raise AnalysisError(f"--columns {key}={wanted[key]}: unknown unit", hint=f"known: {', '.join(known)}")
    return known[wanted[key]]


def _place(text: Source, number: int, name: str, header: Sequence[str]) -> int:
    names = [cell.strip() for cell in header]
    if name.isdecimal() and 0 < int(name) <= len(names):
        return int(name) - 1
    if name in names:
        return names.index(name)
    hint = f"columns: {', '.join(names[:30])}; or the number of one, from 1"
    raise text.wrong(number, f"names no column {name!r}", hint)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


SOURCES: Mapping[str, Callable[[Sequence[Source], Options], Found]] = {
    "mahimahi": mahimahi,
    "leoreplayer": leoreplayer,
    "hypatia": hypatia,
    "irish": irish,
    "pensieve": pensieve,
    "fcc": fcc,
    "fcc-cooked": fcc_cooked,
    "norway": norway,
    "belgium": belgium,
    "columns": columns,
}
"""The sources by name."""


def _alone(texts: Sequence[Source]) -> tuple[Source]:
    if len(texts) != 1:
        raise AnalysisError(f"{len(texts)} files", hint="name the one to read")
    return (texts[0],)


def _of_ways(ways: Mapping[str, Way], length: float = 0.0) -> Recording:
    times = [float(way.opportunities[-1]) for way in ways.values() if way.opportunities is not None]
    return Recording(ways.get("uplink", Way()), ways.get("downlink", Way()), max([length, *times]))


def _of_rates(
    text: Source, times: npt.NDArray[np.float64], rates: npt.NDArray[np.float64], options: Options
) -> Found:
    """Return a list of rates (ms, bit/s) as steps of one direction; each holds to the next, the last for a median step."""
    times = _growing(text, times)
    if not (rates > 0).any():
        raise AnalysisError(f"{text.name}: no rate is above 0")
    if rates.max() > _MOST_RATE:
        raise AnalysisError(f"{text.name}: a rate of {rates.max():.3g} bit/s", hint="check its unit")
    step = _median_step(times)
    gaps = np.flatnonzero(np.diff(times) > GAP * step)
    notes: list[str] = []
    if gaps.size:
        at = times[gaps[0]] / 1000
        notes.append(
            f"{gaps.size} gaps of more than {GAP} median steps ({step:g} ms), the first at {at:.4g} s"
        )
    way = Way({RATE: _changes(times, np.rint(rates))})
    length = float(times[-1]) + step
    notes += [f"{options.direction}: {said}" for said in silences(way, length)]
    return Found(_of_one(way, options.direction, length), tuple(notes))


def _regular(count: int, step: float) -> npt.NDArray[np.float64]:
    return np.arange(count, dtype=np.float64) * np.float64(step)


def _of_one(way: Way, direction: Direction, length: float) -> Recording:
    return Recording(way, Way(), length) if direction == "uplink" else Recording(Way(), way, length)


def _growing(text: Source, times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
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


def _median_step(times: npt.NDArray[np.float64]) -> float:
    return float(np.median(np.diff(times))) if times.size > 1 else 1000.0


def _changes(times: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> Steps:
    """Return the steps at which values change."""
    kept = np.concatenate([[True], np.diff(values) != 0])
    return Steps(times[kept], values[kept])


def _number(text: Source, number: int, cell: str, most: float) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise text.wrong(number, f"has `{cell[:40]}` where a number from 0 to {as_given(most)} should be")
    return value


def _cells(text: Source, number: int, line: str, count: int) -> list[float]:
    cells = [cell for cell in re.split(r"[,;\s]+", line.strip()) if cell]
    if len(cells) != count:
        raise text.wrong(number, f"has {len(cells)} fields, not {count}")
    return [_number(text, number, cell, 1e18) for cell in cells]


def _table(text: Source) -> Iterator[tuple[int, list[str]]]:
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


def _is_date(cell: str, form: str) -> bool:
    try:
        datetime.strptime(cell.strip(), form)
    except ValueError:
        return False
    return True


def _moment(text: Source, number: int, cell: str, form: str) -> float:
    """Return a date without a zone in ms."""
    try:
        return (datetime.strptime(cell.strip(), form) - datetime(1970, 1, 1)).total_seconds() * 1000
    except ValueError as error:
        raise text.wrong(
            number,
            f"has `{cell[:40]}` where a time like {datetime(2019, 12, 16, 13, 40, 4):{form}} should be",
        ) from error


def filled(recording: Recording, fill: str, seed: int) -> Recording:
    """Return a recording whose rates became opportunities: at random (poisson), or that with a rate that varies (cellular).

    A cellular rate is that of each step times a factor from 0 to 2 that goes up or down by a quarter after an exponential time of mean
    100 ms, as `rate = "cellular:…"`; its mean is 1.

    Raises
    ------
    AnalysisError
        There would be none, or too many opportunities.
    """
    if fill == "constant":
        return recording
    ways: dict[str, Way] = {}
    for number, (name, way) in enumerate(recording.ways.items()):
        random = np.random.Generator(np.random.PCG64DXSM([seed, number]))
        ways[name] = _filled(way, recording.length, fill, random) if RATE in way.steps else way
    return replace(recording, uplink=ways.get("uplink", Way()), downlink=ways.get("downlink", Way()))


def _filled(way: Way, length: float, fill: str, random: np.random.Generator) -> Way:
    rate = way.steps[RATE]
    edges, values = np.append(rate.times, length), rate.values
    edges[0] = 0.0
    if fill == "cellular":
        if 2 * length / _DWELL > MOST_ROWS:
            raise AnalysisError(
                f"{length / 1000:.4g} s are too long for --fill cellular", hint="cut it into parts"
            )
        switches = np.cumsum(random.exponential(_DWELL, int(2 * length / _DWELL) + 100))
        switches = switches[switches < length]
        starts = np.union1d(edges[:-1], switches)
        factors = 2 * _walk(switches.size + 1, random) / _LEVELS
        values = (
            Steps(edges[:-1], values).at(starts) * factors[np.searchsorted(switches, starts, side="right")]
        )
        edges = np.append(starts, length)
    per_millisecond = values / 1000 / _OPPORTUNITY_BITS
    whole = np.concatenate([[0.0], np.cumsum(per_millisecond * np.diff(edges))])
    if whole[-1] > _MOST_OPPORTUNITIES:
        raise AnalysisError(
            "there would be more than 50 million opportunities", hint="use --fill constant, or cut it"
        )
    # Poisson: uniform in expected count, as many as drawn.
    expected = float(whole[-1])
    drawn = np.asarray(random.uniform(0, expected, size=int(random.poisson(expected))), dtype=np.float64)
    places = np.sort(drawn)
    if not places.size:
        raise AnalysisError("there would be no opportunity", hint="use --fill constant")
    phases = np.minimum(np.searchsorted(whole, places, side="right") - 1, values.size - 1)
    times = np.ceil(edges[phases] + (places - whole[phases]) / np.maximum(per_millisecond[phases], 1e-12))
    others = {name: steps for name, steps in way.steps.items() if name != RATE}
    return Way(others, np.minimum(times, np.floor(length)).astype(np.int64))


def _walk(count: int, random: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return levels from 0 to `_LEVELS`: a walk that stays where a step would lead out, from its long-run distribution on."""
    level = int(random.integers(0, _LEVELS + 1))
    found = np.empty(count)
    for place, up in enumerate(random.random(count) < 0.5):
        found[place] = level
        level = min(_LEVELS, level + 1) if up else max(0, level - 1)
    return found
