"""Times of day in which trials may run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from trialwise.experiment.model import Experiment
from trialwise.experiment.windows import Between
from trialwise.store.ledger import Ledger

_DAYS = 3
"""Days ahead in which a window opens: one that a change of the clock swallows is followed by that of the next day."""


@dataclass(frozen=True, slots=True)
class Window:
    """A time in which trials may run, in Unix seconds."""

    opens: float
    closes: float


def next_window(between: Between, now: float, zone: tzinfo | None = None) -> Window:
    """Return the window that `now` (Unix seconds) is in, or the next one.

    Times of day are those of `zone`, default the machine's. Where clocks are set back, a time that occurs twice is the first of both;
    where they are set forward, one that does not occur is that of the clock that was not yet set.
    """
    today = datetime.fromtimestamp(now, UTC).astimezone(zone).date()
    windows = (_on(between, today + timedelta(days=days), zone) for days in range(-1, _DAYS + 1))
    return next(window for window in windows if now < window.closes)


def opening(between: Between, now: float, takes: float, zone: tzinfo | None = None) -> float | None:
    """Return when a trial that takes so many seconds may begin, now or in the next window that is long enough; None if none is."""
    for _ in range(_DAYS):
        window = next_window(between, now, zone)
        begins = max(now, window.opens)
        if begins + takes <= window.closes:
            return begins
        now = window.closes
    return None


def expected_seconds(experiment: Experiment, ledger: Ledger, treatment: str) -> float:
    """Return how long a trial is taken to last: as the longest finished one of its treatment, else as the file says, else 0."""
    longest = ledger.longest(treatment)
    return longest if longest is not None else experiment.runtime or 0.0


def moment_text(moment: float, zone: tzinfo | None = None) -> str:
    """Write a moment in local time, with the time zone."""
    local = datetime.fromtimestamp(moment, UTC).astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M} {zone_text(moment, zone)}"


def zone_text(moment: float, zone: tzinfo | None = None) -> str:
    """Name the time zone at a moment, with its distance from UTC: "CET, UTC+01:00"."""
    local = datetime.fromtimestamp(moment, UTC).astimezone(zone)
    offset = f"{local:%z}"
    return f"{local:%Z}, UTC{offset[:3]}:{offset[3:5]}"


def _on(between: Between, day: date, zone: tzinfo | None) -> Window:
    """Return the window that opens on a day."""
    closes = day if between.closes > between.opens else day + timedelta(days=1)
    return Window(_moment(day, between.opens, zone), _moment(closes, between.closes, zone))


def _moment(day: date, minute: int, zone: tzinfo | None) -> float:
    """Return a time of a day in minutes after midnight as Unix seconds."""
    local = datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=zone)
    return local.timestamp()
