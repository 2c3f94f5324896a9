"""The condition of a real path before an experiment: how far it moves by itself, and how many rounds that asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.conditions.profile import Profile, length_words, profile_of, span_line
from trialwise.analysis.conditions.table import ConditionTable
from trialwise.arrays import Array
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Extent
from trialwise.measurement.condition_files import ConditionRecord
from trialwise.measurement.condition_rows import Condition

Kind = Literal["delay", "loss", "rate"]
QUANTITIES: Mapping[str, tuple[Kind, str, str]] = {
    "round_trip": ("delay", "ms", "lowest round trip"),
    "up_p95": ("delay", "ms", "queueing there, p95"),
    "down_p95": ("delay", "ms", "queueing back, p95"),
    "up_loss": ("loss", "%", "loss there"),
    "down_loss": ("loss", "%", "loss back"),
    "up_rate": ("rate", "Mbit/s", "rate there"),
    "down_rate": ("rate", "Mbit/s", "rate back"),
}
"""What is known of a path: its kind, its unit, and what it is."""
HOUR, DAY = 3600.0, 86_400.0
_SAME = 1e-9
_MOST_MEANS = 1000
"""Values that are searched for shifts, drift and periods; more are averaged."""


@dataclass(frozen=True, slots=True)
class Round:
    """A round of the experiment: trials, seconds of one, and from the beginning of one to that of the next."""

    treatments: int
    trial: float
    slot: float

    @property
    def seconds(self) -> float:
        """Seconds of a round."""
        return self.treatments * self.slot


@dataclass(frozen=True, slots=True)
class Quantity:
    """How one quantity of the path moves.

    `usual` is the median of the n rows, `low` and `high` their 5th and 95th percentile. `quietest` and `busiest` are the lowest and
    the highest median of an hour of day (UTC) with their hours, None unless there are rows of two. `margin` is in the unit; `rounds`,
    None without a margin, are those that it asks for.
    """

    name: str
    words: str
    unit: str
    n: int
    usual: float
    low: float
    high: float
    quietest: float | None
    quietest_hour: int | None
    busiest: float | None
    busiest_hour: int | None
    margin: float | None
    rounds: st.RoundsNeeded | None

    @property
    def demand(self) -> float:
        """Rounds that it asks for: infinite if more than are considered, 0 if not known."""
        if self.rounds is None or self.rounds.is_short:
            return 0.0
        return np.inf if self.rounds.rounds is None else float(self.rounds.rounds)


@dataclass(frozen=True, slots=True)
class HourOfDay:
    """The rows that began in an hour of the day (UTC): how many, and the median of each quantity."""

    hour: int
    n: int
    medians: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class PathProfile:
    """The condition of a path, as `trialwise profile FILE.toml --json` prints it.

    Times are in seconds, `start` and `end` in UTC. `measured` is what the rows cover between them, `longest_gap` the longest time
    between two rows; `every` is the length of a row. `rounds` are the most that a quantity asks for, `decided_by` its name; None if
    those are more than are considered. `spacing` is from the beginning of one to that of the next, `span` what they should cover;
    `design_lines` say both in `[design]`. `moves` are the level shifts, drift and periods of `round_trip` and `decided_by`, of means
    over longer rows where there are many. `rates` are medians in Mbit/s, there and back, None where not measured. Skews are in
    millionths.
    """

    format: Literal["trialwise.path-profile/1"]
    file: str
    path: str
    n: int
    every: float
    start: str
    end: str
    measured: float
    longest_gap: float
    rounds: int | None
    decided_by: str | None
    spacing: float | None
    spacing_words: str | None
    span: float | None
    design_lines: tuple[str, ...]
    treatments: int
    round_seconds: float
    quantities: tuple[Quantity, ...]
    hours: tuple[HourOfDay, ...]
    probes_sent: tuple[int, int]
    probes_lost: tuple[int, int]
    route_changes: int
    ttl_changes: int
    clock_steps: int
    skew_ppm: float | None
    rates: tuple[float | None, float | None]
    moves: tuple[Profile, ...]
    confidence: float
    how: str
    notes: tuple[str, ...]


def path_profile(
    path: Path,
    record: ConditionRecord,
    ahead: Round,
    margins: Mapping[Kind, Extent],
    *,
    confidence: float = 95,
) -> PathProfile:
    """Say how far a path moves by itself, and how many rounds the margins ask for.

    Parameters
    ----------
    path, record
        The file, and what stands in it.
    ahead
        A round of the experiment that is to run.
    margins
        The difference that would matter, for each kind of quantity that has one. In percent, a margin of delay is taken of the usual
        round trip, and one of a rate of the usual rate.
    confidence
        Of verdicts, in percent.

    Raises
    ------
    AnalysisError
        There is no row.
    """
    rows = sorted((row for row in record.rows if row.up_mbps is None and row.down_mbps is None), key=_time)
    if not rows:
        raise AnalysisError(
            f"{path}: no condition of the path was recorded yet", hint="measure it with --for 10m"
        )
    times, series = np.array([row.time for row in rows]), _series(rows)
    rated = sorted(
        (row for row in record.rows if row.up_mbps is not None or row.down_mbps is not None), key=_time
    )
    quantities = tuple(
        _quantity(name, at, values, record.about.every, ahead, margins, series, confidence)
        for name, (at, values) in (
            {name: (times, values) for name, values in series.items()} | _rates(rated)
        ).items()
        if np.isfinite(values).any()
    )
    deciding = max((one for one in quantities if one.demand), key=lambda one: one.demand, default=None)
    rounds = deciding.rounds.rounds if deciding and deciding.rounds else None
    watched = dict.fromkeys(
        ("round_trip", *((deciding.name,) if deciding and deciding.name in series else ()))
    )
    moves = tuple(_moves(path, watched, times, series, confidence))
    spacing, span = _spacing(rounds, ahead, moves)
    return PathProfile(
        format="trialwise.path-profile/1",
        file=str(path),
        path=record.about.path,
        n=len(rows),
        every=record.about.every,
        start=_moment(rows[0].time),
        end=_moment(rows[-1].time + rows[-1].seconds),
        measured=sum(row.seconds for row in rows),
        longest_gap=float(np.diff(times).max(initial=0.0)),
        rounds=rounds,
        decided_by=deciding.name if deciding else None,
        spacing=spacing,
        spacing_words=None if spacing is None else length_words(spacing),
        span=span,
        design_lines=() if rounds is None or span is None else (f"rounds = {rounds}", span_line(span)),
        treatments=ahead.treatments,
        round_seconds=ahead.seconds,
        quantities=quantities,
        hours=tuple(_hours(times, series)),
        probes_sent=(_total(rows, "up_sent"), _total(rows, "down_sent")),
        probes_lost=(_total(rows, "up_lost"), _total(rows, "down_lost")),
        route_changes=sum(row.route_ms is not None for row in rows),
        ttl_changes=_changes(rows, "up_ttl") + _changes(rows, "down_ttl"),
        clock_steps=_total(rows, "clock_steps"),
        skew_ppm=_median([row.skew_ppm for row in rows]),
        rates=(_median([row.up_mbps for row in rated]), _median([row.down_mbps for row in rated])),
        moves=moves,
        confidence=confidence,
        how=_how(deciding),
        notes=tuple(dict.fromkeys(_notes(quantities, times, moves))),
    )


def _time(row: Condition) -> float:
    return row.time


def _column(rows: Sequence[Condition], name: str) -> Array:
    found = [getattr(row, name) for row in rows]
    return np.array([np.nan if value is None else value for value in found], np.float64)


def _series(rows: Sequence[Condition]) -> dict[str, Array]:
    """Return the quantities of rows that were probed."""
    found = {name: _column(rows, f"{name}_ms") for name in ("round_trip", "up_p95", "down_p95")}
    for way in ("up", "down"):
        sent, lost = _column(rows, f"{way}_sent"), _column(rows, f"{way}_lost")
        found[f"{way}_loss"] = 100 * lost / np.where(sent > 0, sent, np.nan)
    return found


def _rates(rows: Sequence[Condition]) -> dict[str, tuple[Array, Array]]:
    times = np.array([row.time for row in rows])
    return {f"{way}_rate": (times, _column(rows, f"{way}_mbps")) for way in ("up", "down") if rows}


def _quantity(
    name: str,
    times: Array,
    values: Array,
    every: float,
    ahead: Round,
    margins: Mapping[Kind, Extent],
    series: Mapping[str, Array],
    confidence: float,
) -> Quantity:
    kind, unit, words = QUANTITIES[name]
    known = values[np.isfinite(values)]
    low, usual, high = np.percentile(known, (5, 50, 95)).tolist()
    by_hour = dict(_by_hour(times, values))
    quietest = min(by_hour, key=by_hour.__getitem__) if len(by_hour) > 1 else None
    busiest = max(by_hour, key=by_hour.__getitem__) if len(by_hour) > 1 else None
    trips = series["round_trip"][np.isfinite(series["round_trip"])]
    of = usual if kind == "rate" else float(np.median(trips)) if trips.size else 0.0
    margin = _in_units(margins.get(kind), of)
    return Quantity(
        name=name,
        words=words,
        unit=unit,
        n=known.size,
        usual=usual,
        low=low,
        high=high,
        quietest=None if quietest is None else by_hour[quietest],
        quietest_hour=quietest,
        busiest=None if busiest is None else by_hour[busiest],
        busiest_hour=busiest,
        margin=margin,
        rounds=None
        if margin is None
        else st.rounds_needed(
            times, values, margin, confidence=confidence, **_lengths(kind, times, every, ahead)
        ),
    )


class _Lengths(TypedDict):
    every: float
    trial: float
    slot: float
    treatments: int


def _lengths(kind: Kind, times: Array, every: float, ahead: Round) -> _Lengths:
    """Return the lengths by which trials of a round are looked up in rows.

    Rates are far apart. The nearest that there are stand for trials of a round: they differ as much as those, or more.
    """
    if kind != "rate":
        return {
            "every": every,
            "trial": ahead.trial,
            "slot": ahead.slot,
            "treatments": ahead.treatments,
        }
    apart = float(np.median(np.diff(times))) if times.size > 1 else ahead.seconds
    apart = max(apart, ahead.slot)
    treatments = ahead.treatments if apart < ahead.seconds else 2
    return {"every": apart, "trial": apart, "slot": apart, "treatments": treatments}


def _in_units(margin: Extent | None, of: float) -> float | None:
    """Return a margin in the unit of the values; None if there is none, or it is one of nothing."""
    if margin is None:
        return None
    size = margin.value / 100 * of if margin.relative else margin.value
    return size if size > 0 else None


def _by_hour(times: Array, values: Array) -> Iterator[tuple[int, float]]:
    hours = (times % DAY // HOUR).astype(np.int64)
    for hour in np.unique(hours).tolist():
        known = values[(hours == hour) & np.isfinite(values)]
        if known.size:
            yield hour, float(np.median(known))


def _hours(times: Array, series: Mapping[str, Array]) -> Iterator[HourOfDay]:
    medians = {name: dict(_by_hour(times, values)) for name, values in series.items()}
    hours, counts = np.unique((times % DAY // HOUR).astype(np.int64), return_counts=True)
    for hour, count in zip(hours.tolist(), counts.tolist(), strict=True):
        yield HourOfDay(hour, count, {name: medians[name].get(hour) for name in series})


def _moves(
    path: Path, names: Iterable[str], times: Array, series: Mapping[str, Array], confidence: float
) -> Iterator[Profile]:
    """Yield the shifts, the drift and the periods of quantities; none if there are too few rows."""
    for name in names:
        known = np.isfinite(series[name])
        if not known.any():
            continue
        at, values = _means(times[known], series[name][known])
        table = ConditionTable(path, "time", name, at, values, dated=True, trials=None, notes=())
        with suppress(AnalysisError):
            yield profile_of(table, confidence=confidence)


def _means(times: Array, values: Array) -> tuple[Array, Array]:
    """Return at most `_MOST_MEANS` means over stretches of equal length, and their middles: evenly spaced but for gaps."""
    if times.size <= _MOST_MEANS:
        return times, values
    edges = np.linspace(float(times[0]), float(times[-1]), _MOST_MEANS + 1)
    which = np.searchsorted(edges[1:-1], times, side="right")
    counts = np.bincount(which, minlength=_MOST_MEANS)
    sums, there = np.bincount(which, weights=values, minlength=_MOST_MEANS), counts > 0
    return ((edges[1:] + edges[:-1]) / 2)[there], sums[there] / counts[there]


def _spacing(rounds: int | None, ahead: Round, moves: Sequence[Profile]) -> tuple[float | None, float | None]:
    """Return from the beginning of one round to that of the next, and what all cover: whole cycles where there are some."""
    if rounds is None:
        return None, None
    back_to_back = rounds * ahead.seconds
    cycle = max((one.span for one in moves if one.span is not None), default=None)
    if cycle is None:
        return ahead.seconds, back_to_back
    span = cycle * np.ceil(back_to_back / cycle - _SAME)
    return float(span / rounds), float(span)


def _changes(rows: Sequence[Condition], name: str) -> int:
    """Return how often a time to live became another."""
    known = _column(rows, name)
    known = known[np.isfinite(known)]
    return int(np.count_nonzero(np.diff(known)))


def _total(rows: Sequence[Condition], name: str) -> int:
    return int(np.nansum(_column(rows, name)))


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")


def _how(deciding: Quantity | None) -> str:
    return "" if deciding is None or deciding.rounds is None else deciding.rounds.method


def _notes(quantities: Sequence[Quantity], times: Array, moves: Sequence[Profile]) -> Iterator[str]:
    without: dict[str, list[str]] = {}
    for one in quantities:
        if one.rounds is not None and one.rounds.rounds is None:
            without.setdefault(one.rounds.reason, []).append(one.words)
    yield from (
        f"no number of rounds for {' and '.join(words)}: {reason}" for reason, words in without.items()
    )
    if not any(one.name.endswith("rate") for one in quantities):
        yield "rates were not measured, so nothing is said of margins of throughput: --rate 30min measures them"
    span = float(times[-1] - times[0])
    if span < DAY:
        covered = length_words(span) if span else "one row"
        yield f"the record covers {covered} of a day: at other hours the path may move more"
    if not moves:
        yield "too few rows to search for shifts, drift and periods"
    for one in moves:
        yield from one.notes
