"""Progress of a run on standard error: a bar with ETA and interval widths on a terminal, a line for each trial elsewhere.

Nothing is drawn, and no thread wakes up, while a trial runs. What a long trial shows was drawn before it started: since
when it runs, and when it should end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from trialwise.analysis.widths import LiveWidths, Width
from trialwise.execution.events import (
    ClockDisturbed,
    Computing,
    EnvironmentChanged,
    Interrupted,
    NodesAwaited,
    Observer,
    Remarked,
    Resetting,
    RunEvent,
    SessionEnded,
    SessionStarted,
    StoppingOutlook,
    StopRequested,
    TrialEnded,
    TrialRecalled,
    TrialStarted,
    Waiting,
    WorkerNotice,
)
from trialwise.execution.workers.address import LOCAL
from trialwise.experiment.model import Experiment
from trialwise.experiment.quantity import duration_text
from trialwise.store.records import TrialRow

REDRAW_SECONDS = 0.2
"""At most so often is the bar drawn; short trials are not held up by it."""
WIDTH_SECONDS = 1.0
"""At most so often are the widths computed anew."""
MOST_WIDTHS = 6
NEWS = 0.25
"""A forecast is news for a log when it has changed by so much."""
LINE_SECONDS = 1.0
"""Trials that are computed, thousands a minute, get at most one line in this time, unless they failed."""
LONG_SECONDS = 10.0
"""Of trials that have been in hand for longer it is said since when."""
MOST_OPEN = 6
"""So many claims that are still open are shown."""


def observer(console: Console, experiment: Experiment, *, terminal: bool) -> Observer:
    """The observer that suits where standard error goes."""
    if not terminal:
        return Lines(console, each=not experiment.is_simulated)
    return Bar(console, LiveWidths(experiment), runtime=experiment.runtime)


class Pace:
    """How long trials take in this session, and so how long the rest will.

    Of measured trials it counts from the first one's start (or its reset). Nobody says when those that are computed start: it counts
    from the end of the first ones, as many as are computed at the same time, which leaves the start of processes out.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: float | None = None
        self._waited = 0.0
        self._trials = 0
        self._together = 1
        self._last_start: float | None = None

    def notice(self, event: RunEvent) -> None:
        """Take in what says how fast it goes."""
        match event:
            case SessionStarted():
                self._last_start = event.last_start
            case Resetting() | TrialStarted() if self._begun is None:
                self._begin()
            case Computing():
                self._together = event.cores
            case Waiting():
                self._waited += max(event.until - time.time(), 0.0)
            case TrialEnded():
                self._trials += 1
                if self._begun is None and self._trials >= self._together:
                    self._begin()
            case _:
                pass

    def _begin(self) -> None:
        self._begun, self._waited, self._trials = self._clock(), 0.0, 0

    def left(self, remaining: int, now: float) -> float | None:
        """Seconds that `remaining` trials will take at the pace so far, and not before the last round starts."""
        if self._begun is None or not self._trials or remaining <= 0:
            return None
        each = max(self._clock() - self._begun - self._waited, 0.0) / self._trials
        if self._last_start is None:
            return each * remaining
        return max(self._last_start - now + each, each * remaining)


class Lines:
    """One line for each trial, for logs; of trials that are not measured but computed, now and then one."""

    def __init__(self, console: Console, *, each: bool = True) -> None:
        self._console = console
        self._each = each
        self._printed = float("-inf")
        self._done = 0
        self._total = 0
        self._announced = 0
        self._pace = Pace()

    def notice(self, event: RunEvent) -> None:
        """Print what matters for a log."""
        self._pace.notice(event)
        if isinstance(event, SessionStarted):
            self._done, self._total = event.done, event.total
        elif isinstance(event, StoppingOutlook):
            self._look_ahead(event)
        elif isinstance(event, TrialEnded):
            self._done += event.outcome.status != "abandoned"
        if self._deserves_a_line(event) and (text := describe(event)):
            line = f"{_time(time.time())} {self._place(event)}{text}"
            self._console.print(line, markup=False, soft_wrap=True)

    def _deserves_a_line(self, event: RunEvent) -> bool:
        if self._each or not isinstance(event, TrialEnded) or event.outcome.status != "finished":
            return True
        now = time.monotonic()
        if now - self._printed < LINE_SECONDS:
            return False
        self._printed = now
        return True

    def _look_ahead(self, event: StoppingOutlook) -> None:
        """Take over how many trials there will be; a line where that has changed much."""
        if event.total is None:
            return
        self._total = event.total
        if abs(event.total - self._announced) > NEWS * self._announced:
            self._announced = event.total
            what = "trials are the pilot" if event.pilot else "trials in all are expected"
            for text in (f"{event.total} {what}", *event.texts[:MOST_OPEN]):
                self._console.print(f"{_time(time.time())} {text}", markup=False, soft_wrap=True)

    def _place(self, event: RunEvent) -> str:
        if not isinstance(event, TrialEnded):
            return ""
        self._total = max(self._total, self._done)  # a forecast may be too low
        left = self._pace.left(self._total - self._done, time.time())
        return f"[{self._done}/{self._total}" + (f", {duration_text(left)} left] " if left else "] ")


class Bar:
    """A bar with ETA, the trial in hand, and the widths of the intervals."""

    def __init__(self, console: Console, widths: LiveWidths, *, runtime: float | None) -> None:
        self._widths = widths
        self._shown: list[Width] = []
        self._runtime = runtime
        self._lasted: dict[str, float] = {}
        self._pace = Pace()
        self._past: list[TrialRecalled] = []
        self._done = 0
        self._total = 0
        self._failed = 0
        self._hands: dict[str | None, str] = {}
        self._open: tuple[str, ...] = ()
        self._drawn = self._computed = float("-inf")
        self._live = Live(console=console, auto_refresh=False, transient=False)

    def notice(self, event: RunEvent) -> None:  # noqa: C901, PLR0912 one case for each event
        """Redraw what has changed."""
        self._pace.notice(event)
        match event:
            case TrialRecalled():
                self._recalled(event)
            case SessionStarted():
                self._begin(event)
            case Waiting():
                self._hands = {None: f"waiting until {_time(event.until)} for the next round"}
                self._draw(at_once=True)
            case Resetting():
                self._hands[event.row.worker] = "reset"
                self._draw()
            case TrialStarted():
                self._hands.pop(None, None)
                self._hands[event.row.worker] = self._trial_text(event.row)
                self._draw(at_once=self._expected(event.row) > REDRAW_SECONDS)
            case Computing():
                self._hands = {None: _computing_text(event)}
                self._draw()
            case NodesAwaited():
                self._hands = {None: _AWAITED}
                self._draw(at_once=True)
            case TrialEnded():
                self._ended(event)
            case StoppingOutlook():
                self._total = event.total or self._total
                self._open = event.texts
            case WorkerNotice():
                self._hands.pop(event.worker, None)
            case SessionEnded():
                self._hands = {}
                self._draw(at_once=True, final=True)
                self._live.stop()
            case _:
                pass
        if self._deserves_a_line(event) and (text := describe(event)):
            self._live.console.print(text, markup=False)

    def _deserves_a_line(self, event: RunEvent) -> bool:
        if isinstance(event, Waiting | NodesAwaited):
            return False
        return not isinstance(event, TrialEnded) or event.outcome.status != "finished"

    def _recalled(self, event: TrialRecalled) -> None:
        """Keep the trials of the latest series, whose intervals are shown; nothing is read yet."""
        if self._past and self._past[-1].row.series != event.row.series:
            self._past.clear()
        self._past.append(event)

    def _begin(self, event: SessionStarted) -> None:
        for past in self._past:
            self._widths.add(past.row, past.samples())
        self._past.clear()
        self._done, self._total = event.done, event.total
        self._live.start()

    def _ended(self, event: TrialEnded) -> None:
        outcome = event.outcome
        self._done += outcome.status != "abandoned"
        self._failed += outcome.status in {"failed", "invalid"}
        if outcome.status == "finished":
            self._widths.add(event.row, outcome.samples)
            if outcome.started is not None:
                self._lasted[event.row.treatment] = outcome.finished - outcome.started

    # What is drawn

    def _expected(self, row: TrialRow) -> float:
        """How long the trial should take: as the last of its treatment, else as the file says; unknown is long."""
        lasted = self._lasted.get(row.treatment, self._runtime)
        return float("inf") if lasted is None else lasted

    def _trial_text(self, row: TrialRow) -> str:
        expected = self._expected(row)
        now = time.time()
        until = f", ends about {_time(now + expected)}" if expected != float("inf") else ""
        where = "" if row.worker in (None, LOCAL) else f"{row.worker}: "
        return f"{where}trial {row.number} since {_time(now)}{until}: {row.treatment}"

    def _draw(self, *, at_once: bool = False, final: bool = False) -> None:
        now = time.monotonic()
        if not at_once and now - self._drawn < REDRAW_SECONDS:
            return
        if final or now - self._computed >= WIDTH_SECONDS:
            self._shown, self._computed = self._widths.widths(), now
        self._live.update(self._picture(), refresh=True)
        self._drawn = time.monotonic()

    def _picture(self) -> RenderableType:
        self._total = max(self._total, self._done)  # a forecast may be too low
        left = self._pace.left(self._total - self._done, time.time())
        line = Table.grid(padding=(0, 1), expand=False)
        parts = [f"{self._done}/{self._total}"]
        parts += [f"{self._failed} failed"] if self._failed else []
        parts += [f"{duration_text(left)} left"] if left else []
        bar = ProgressBar(total=max(self._total, 1), completed=self._done, width=24)
        line.add_row(bar, _one_line(" · ".join(parts)))
        # What is open ends with its forecast, which a narrow terminal must not cut off.
        opened = [Text(text) for text in self._open[:MOST_OPEN]]
        further = len(self._open) - MOST_OPEN
        more = [f"and {further} more open"] if further > 0 else []
        widths = [width_text(width) for width in self._shown[:MOST_WIDTHS]]
        return Group(line, *map(_one_line, self._hands.values()), *opened, *map(_one_line, [*more, *widths]))


def _one_line(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")


_AWAITED = "no node is there: waiting for one"


def describe(event: RunEvent) -> str | None:  # noqa: C901, PLR0911 one sentence for each event
    """Say in a line what happened, or None where that is not worth a line."""
    match event:
        case SessionStarted() if event.done or event.reclaimed:
            again = f", {event.reclaimed} abandoned by a kill will run again" if event.reclaimed else ""
            return f"going on: {event.done} of {event.total} trials are done{again}"
        case Waiting():
            return f"waiting until {_time(event.until)} for the next round"
        case NodesAwaited():
            return _AWAITED
        case TrialEnded():
            return _trial_ended(event)
        case EnvironmentChanged():
            return f"the environment has changed ({event.text}); what follows is a series of its own"
        case ClockDisturbed():
            return f"{event.text}, before or during trial {event.row.number}; look at its values"
        case WorkerNotice():
            return f"worker {event.worker}: {event.text}"
        case Remarked():
            return event.text
        case StopRequested(at_once=False):
            return "stopping after the trial in hand; Ctrl-C again abandons it"
        case StopRequested(at_once=True):
            return "abandoning the trial in hand"
        case Interrupted():
            return "stopped" + (
                "; the trial in hand was abandoned and will run again" if event.at_once else ""
            )
        case _:
            return None


def _computing_text(event: Computing) -> str:
    where = f" of {event.nodes} nodes" if event.nodes > 1 else ""
    trials = f"{event.trials} trial{'s' if event.trials != 1 else ''}"
    since = "" if event.oldest is None or time.time() - event.oldest < LONG_SECONDS else _since(event.oldest)
    return f"{trials} in hand on {event.cores} core{'s' if event.cores > 1 else ''}{where}{since}"


def _since(moment: float) -> str:
    return f", the first since {_time(moment)} ({duration_text(round(time.time() - moment))})"


def _trial_ended(event: TrialEnded) -> str:
    outcome = event.outcome
    took = "" if outcome.started is None else f" in {duration_text(outcome.finished - outcome.started)}"
    reason = f": {outcome.reason}" if outcome.reason else ""
    where = "" if event.row.worker in (None, LOCAL) else f" on {event.row.worker}"
    return f"trial {event.row.number} {event.row.treatment} {outcome.status}{took}{where}{reason}"


def width_text(width: Width) -> str:
    """Write a width as "throughput p50 ±3.1 %", or how many trials are missing."""
    name = f"{width.metric} p{width.percentile:g}"
    if width.relative is None:
        return f"{name}: {width.missing} more rounds for an interval at {width.confidence:g} %"
    if math.isinf(width.relative):
        return f"{name}: the interval at {width.confidence:g} % is still open at one end"
    return f"{name} ±{width.relative * 100:.2g} % at {width.confidence:g} %"


def _time(moment: float) -> str:
    """A moment of the local time of day; with the date where it is not today."""
    local = datetime.fromtimestamp(moment, UTC).astimezone()
    today = datetime.now(UTC).astimezone().date()
    return f"{local:%H:%M:%S}" if local.date() == today else f"{local:%Y-%m-%d %H:%M:%S}"
