"""Progress of a run on standard error: a bar with ETA and interval widths on a terminal, a line for each trial elsewhere."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from trialwise.analysis.widths import LiveWidths, Width
from trialwise.execution.events import (
    EnvironmentChanged,
    Interrupted,
    Observer,
    RunEvent,
    SessionEnded,
    SessionStarted,
    TrialEnded,
    TrialStarted,
    Waiting,
)
from trialwise.experiment.model import Experiment
from trialwise.experiment.quantity import duration_text


def observer(console: Console, experiment: Experiment, *, terminal: bool) -> Observer:
    """The observer that suits where standard error goes."""
    return Bar(console, LiveWidths(experiment)) if terminal else Lines(console)


class Pace:
    """How long trials take, and so how long the rest will."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._trials = 0

    def count(self) -> None:
        """Count a trial that has ended."""
        self._trials += 1

    def left(self, remaining: int) -> float | None:
        """Seconds that `remaining` trials will take at the pace so far."""
        return (time.monotonic() - self._begun) / self._trials * remaining if self._trials else None


class Lines:
    """One line for each trial, for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._done = 0
        self._total = 0
        self._pace = Pace()

    def notice(self, event: RunEvent) -> None:
        """Print what matters for a log."""
        if isinstance(event, SessionStarted):
            self._done, self._total = event.done, event.total
        if isinstance(event, TrialEnded):
            self._done += event.outcome.status != "abandoned"
            self._pace.count()
        if text := describe(event):
            self._console.print(f"{_clock()} {self._place(event)}{text}", markup=False)

    def _place(self, event: RunEvent) -> str:
        if not isinstance(event, TrialEnded):
            return ""
        left = self._pace.left(self._total - self._done)
        return f"[{self._done}/{self._total}" + (f", {duration_text(left)} left] " if left else "] ")


class Bar:
    """A bar with ETA and the widths of the intervals."""

    def __init__(self, console: Console, widths: LiveWidths) -> None:
        self._widths = widths
        self._pace = Pace()
        self._task: TaskID | None = None
        self._total = 0
        self._done = 0
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            TextColumn("{task.fields[widths]}", markup=False),
            console=console,
            auto_refresh=False,
        )

    def notice(self, event: RunEvent) -> None:
        """Redraw the bar; nothing is drawn while a trial runs."""
        if isinstance(event, SessionStarted):
            self._done, self._total = event.done, event.total
            self._task = self._progress.add_task(
                "", total=event.total, completed=event.done, left="", widths=""
            )
            self._progress.start()
        elif isinstance(event, TrialStarted):
            self._show(event.row.treatment)
        elif isinstance(event, TrialEnded):
            self._ended(event)
        elif isinstance(event, SessionEnded):
            self._progress.refresh()
            self._progress.stop()
        if (not isinstance(event, TrialEnded) or event.outcome.status != "finished") and (
            text := describe(event)
        ):
            self._progress.console.print(text, markup=False)

    def _ended(self, event: TrialEnded) -> None:
        self._done += event.outcome.status != "abandoned"
        self._pace.count()
        if event.outcome.status == "finished":
            self._widths.add(event.row, event.outcome.samples)

    def _show(self, description: str) -> None:
        if self._task is None:
            return
        left = self._pace.left(self._total - self._done)
        self._progress.update(
            self._task,
            description=description[:40],
            completed=self._done,
            left=f"{duration_text(left)} left" if left else "",
            widths=" ".join(width_text(width) for width in self._widths.widths()[:3]),
        )
        self._progress.refresh()


def describe(event: RunEvent) -> str | None:
    """Say in a line what happened, or None where that is not worth a line."""
    match event:
        case SessionStarted() if event.done or event.reclaimed:
            again = f", {event.reclaimed} abandoned by a kill will run again" if event.reclaimed else ""
            return f"going on: {event.done} of {event.total} trials are done{again}"
        case Waiting():
            moment = datetime.fromtimestamp(event.until, UTC).astimezone()
            return f"waiting until {moment:%Y-%m-%d %H:%M:%S} for the next round"
        case TrialEnded():
            outcome = event.outcome
            took = (
                "" if outcome.started is None else f" in {duration_text(outcome.finished - outcome.started)}"
            )
            reason = f": {outcome.reason}" if outcome.reason else ""
            return f"trial {event.row.number} {event.row.treatment} {outcome.status}{took}{reason}"
        case EnvironmentChanged():
            return f"the environment has changed ({event.text}); what follows is a series of its own"
        case Interrupted():
            return "interrupted; the trial in hand was " + ("abandoned" if event.at_once else "finished")
        case _:
            return None


def width_text(width: Width) -> str:
    """Write a width as "throughput p50 ±3.1 %", or how many trials are missing."""
    name = f"{width.metric} p{width.percentile:g}"
    if width.relative is None:
        return f"{name}: {width.missing} more for an interval"
    return f"{name} ±{width.relative * 100:.2g} %"


def _clock() -> str:
    return datetime.now(UTC).astimezone().strftime("%H:%M:%S")
