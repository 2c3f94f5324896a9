"""What others recorded of paths, by where it comes from: texts of their files to a recording.

Each source is a function and a line of `SOURCES`. The formats are those that the named programs and data sets have. Units are those
of the source; a table without one must be given it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError
from trialwise.exchange.monroe import monroe
from trialwise.exchange.path_texts import (
    MOST_RATE,
    MOST_ROWS,
    Found,
    Options,
    Source,
    alone,
    cells_of,
    changes,
    chosen_series,
    growing,
    is_date,
    median_step,
    moment_of,
    number_of,
    of_rates,
    of_ways,
    regular,
    rows_of,
)
from trialwise.exchange.trace_files import parse_trace
from trialwise.measurement.opportunities import of_trace
from trialwise.measurement.packets import DIRECTIONS
from trialwise.measurement.recordings import DELAY, RATE, Recording, Steps, Way
from trialwise.numbers import counted

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
_OPPORTUNITY_BITS, _MOST_OPPORTUNITIES = 12_000, 50_000_000
_LEVELS, _DWELL = 8, 100.0


def mahimahi(texts: Sequence[Source], options: Options) -> Found:
    """Traces of mm-link: one text for one direction, or that of the uplink and that of the downlink."""
    ways, notes = _opportunities(texts, options)
    return Found(of_ways(ways), notes)


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
        return Found(of_ways(ways), notes)
    if len(options.delays) > len(DIRECTIONS):
        raise AnalysisError("more than two files of delays", hint="name one for both ways, or one each")
    delays = [_delays_of_lines(each, options) for each in options.delays]
    both = dict(zip(DIRECTIONS, delays * (2 if len(delays) == 1 else 1), strict=True))
    for name, steps in both.items():
        ways[name] = replace(ways.get(name, Way()), steps={DELAY: steps})
    length = max(sum(1 for _ in text.lines) for text in options.delays) * options.interval
    meant = "half a round trip" if options.round_trip else "one way"
    note = f"a line of delays is {options.interval:g} ms and {meant}, as told; loss is not in the files"
    return Found(of_ways(ways, length), (*notes, note))


def _delays_of_lines(text: Source, options: Options) -> Steps:
    values = np.array([number_of(text, number, line.strip(), 3_600_000) for number, line in text.lines])
    if not values.size:
        raise AnalysisError(f"{text.name}: has no delay")
    values = values * (500.0 if options.round_trip else 1000.0)
    return changes(regular(values.size, options.interval), values)


def hypatia(texts: Sequence[Source], options: Options) -> Found:
    """A round trip of Hypatia over time, `networkx_rtt_A_to_B.txt` (`time_ns,rtt_ns`): half each way; 0 where there is no route."""
    (text,) = alone(texts)
    rows = [cells_of(text, number, line, 2) for number, line in text.lines]
    table = np.array(rows).reshape(-1, 2)
    times = growing(text, table[:, 0] / 1e6)
    reached = table[:, 1] > 0
    if not reached.any():
        raise AnalysisError(f"{text.name}: no round trip is above 0")
    delays = changes(times[reached], table[reached, 1] / 2 / 1000)
    states = changes(times, np.where(reached, 0.0, 1.0))
    steps = {DELAY: delays} | ({"state": states} if not reached.all() else {})
    notes = ("where the round trip is 0, no route: nothing arrives",) if not reached.all() else ()
    if options.rate is not None:
        steps[RATE] = Steps(np.zeros(1), np.array([options.rate]))
    else:
        notes = (*notes, "no rate: it is not in the file; --rate gives one")
    way = Way(steps)
    return Found(Recording(way, way, float(times[-1]) + median_step(times)), notes)


def pensieve(texts: Sequence[Source], options: Options) -> Found:
    """Pensieve's `time rate` in seconds and Mbit/s."""
    (text,) = alone(texts)
    table = np.array([cells_of(text, number, line, 2) for number, line in text.lines]).reshape(-1, 2)
    return of_rates(text, table[:, 0] * 1000, table[:, 1] * 1e6, options)


def fcc(texts: Sequence[Source], options: Options) -> Found:
    """FCC's raw webget table: unit, time, target, address, …, bytes per second (fields 0, 1, 2, 6), a line each 5 s."""
    (text,) = alone(texts)
    series: dict[str, list[tuple[float, float]]] = {}
    for number, cells in rows_of(text):
        if number == 1 and not is_date(cells[1] if len(cells) > 1 else "", "%Y-%m-%d %H:%M:%S"):
            continue
        if len(cells) <= 6:
            raise text.wrong(number, f"has {len(cells)} fields, not 7 or more")
        time = moment_of(text, number, cells[1], "%Y-%m-%d %H:%M:%S")
        value = number_of(text, number, cells[6], MOST_RATE / 8)
        series.setdefault(f"{cells[0].strip()},{cells[2].strip()}", []).append((time, value * 8))
    chosen = chosen_series(text.name, series, options.select, "unit and target")
    rates = np.array([value for _, value in chosen])
    return of_rates(text, regular(rates.size, 5000.0), rates, options)


def fcc_cooked(texts: Sequence[Source], options: Options) -> Found:
    """FCC's cooked traces: bytes per second, a line each 5 s."""
    (text,) = alone(texts)
    rates = np.array(
        [8 * number_of(text, number, line.strip(), MOST_RATE / 8) for number, line in text.lines]
    )
    return of_rates(text, regular(rates.size, 5000.0), rates, options)


def norway(texts: Sequence[Source], options: Options) -> Found:
    """Norway's HSDPA, cooked: time (ms), bytes, duration (ms) in fields 0, 1 and 2; it ends where the time falls back."""
    return _of_durations(texts, options, (0, 1, 2))


def belgium(texts: Sequence[Source], options: Options) -> Found:
    """Belgium's 4G: time (ms), bytes, duration (ms) in fields 1, 4 and 5."""
    return _of_durations(texts, options, (1, 4, 5))


def _of_durations(texts: Sequence[Source], options: Options, fields: tuple[int, int, int]) -> Found:
    (text,) = alone(texts)
    times: list[float] = []
    rates: list[float] = []
    notes: tuple[str, ...] = ()
    for number, line in text.lines:
        cells = line.split()
        if len(cells) <= max(fields):
            raise text.wrong(number, f"has {len(cells)} fields, not {max(fields) + 1} or more")
        time, size, duration = (number_of(text, number, cells[field], 1e15) for field in fields)
        if times and time <= times[-1]:
            notes = (f"line {number} goes back in time: what follows is left out",)
            break
        if duration <= 0:
            raise text.wrong(number, f"has a duration of {duration:g} ms")
        times.append(time)
        rates.append(size * 8000 / duration)
    found = of_rates(text, np.array(times), np.array(rates), options)
    return replace(found, notes=(*notes, *found.notes))


def irish(texts: Sequence[Source], options: Options) -> Found:
    """The Irish 4G and 5G tables (G-NetTrack): rates of downloads, kbit/s in whole seconds.

    Lines whose stamp repeats are spread over its second.
    """
    (text,) = alone(texts)
    rows = rows_of(text)
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
        stamps.append(moment_of(text, number, cells[places["timestamp"]], "%Y.%m.%d_%H.%M.%S"))
        rates.append(number_of(text, number, rate, MOST_RATE / 1e3) * 1e3)
    if not stamps:
        raise AnalysisError(f"{text.name}: has no line of a download (State D) with a rate")
    if (np.diff(stamps) < 0).any():
        raise AnalysisError(f"{text.name}: its time goes back", hint="cut it there: the table of one run")
    times, repeated = _spread(np.array(stamps))
    found = of_rates(text, times, np.array(rates), replace(options, direction="downlink"))
    notes = ["rates are those of a program that downloads: the path may carry more"]
    notes += (
        [f"{counted(repeated, 'stamp repeats', 'stamps repeat')}: their lines are spread over the second"]
        if repeated
        else []
    )
    notes += [f"{counted(missing, 'line')} without a rate left out"] if missing else []
    return replace(found, notes=(*notes, *found.notes))


def _spread(stamps: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], int]:
    """Return the times (ms) of stamps in whole seconds, those of the same one spread evenly, and how many repeat."""
    seconds, places, counts = np.unique(stamps, return_inverse=True, return_counts=True)
    ranks = np.arange(stamps.size) - np.concatenate([[0], np.cumsum(counts)])[places]
    return stamps + ranks * 1000.0 / counts[places], int(stamps.size - seconds.size)


def columns(texts: Sequence[Source], options: Options) -> Found:
    """Any table: its columns and units are named."""
    (text,) = alone(texts)
    wanted = _wanted(options.columns, text)
    rows = rows_of(text)
    number, first = next(rows, (0, list[str]()))
    if not first:
        raise AnalysisError(f"{text.name}: is empty")
    places = {key: _place(text, number, name, first) for key, name in wanted.items() if key in _COLUMNS}
    has_header = not all(_is_number(first[place]) for place in places.values())
    lines = rows if has_header else rows_of(text)
    found = {key: list[float]() for key in places}
    for number, cells in lines:
        for key, place in places.items():
            if place >= len(cells):
                raise text.wrong(
                    number, f"has {len(cells)} fields, and column {key} would be number {place + 1}"
                )
            found[key].append(number_of(text, number, cells[place].strip(), 1e18))
    times = np.array(found["time"]) * _unit(wanted, "time_unit", _TIME_UNITS)
    rates = np.array(found["rate"]) * _unit(wanted, "unit", _RATE_UNITS)
    return of_rates(text, times, rates, options)


_COLUMNS = ("time", "rate")
_SHOWN = 200


def _wanted(named: str | None, text: Source) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for pair in (named or "").split(","):
        key, _, value = pair.partition("=")
        pairs |= {key.strip(): value.strip()} if pair.strip() else {}
    missing = [key for key in ("time", "time_unit", "rate", "unit") if not pairs.get(key)]
    unknown = [key for key in pairs if key not in {"time", "time_unit", "rate", "unit"}]
    if missing or unknown:
        problem = f"unknown {unknown[0]}" if unknown else f"{missing[0]} is missing"
        raise AnalysisError(
            f"{text.name}: --columns {named}: {problem}"
            if named
            else f"{text.name}: --columns does not say what is what in {_begin(text)}",
            hint="write where times and rates are and their units, as in --columns time=ts,time_unit=s,rate=dl,unit=Mbit/s",
        )
    return pairs


def _begin(text: Source) -> str:
    """Return the first line of a table, short."""
    _, line = next(text.lines, (0, ""))
    return repr(line[:_SHOWN])


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
    "monroe": monroe,
    "columns": columns,
}
"""The sources by name."""


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
