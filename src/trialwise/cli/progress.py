"""Progress of a run on standard error: a bar with ETA and interval widths on a terminal, occasional lines elsewhere.

Nothing is drawn, and no thread wakes up, while a trial runs. A long trial's start and expected end are drawn before it starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from trialwise.analysis.interval_widths import LiveWidths, Width
from trialwise.cli.event_text import AWAITED, computing_text, describe, time_text, width_text
from trialwise.cli.text import whole_words
from trialwise.cli.throttle import Course
from trialwise.execution.events import (
    Computing,
    NodesAwaited,
    Observer,
    Resetting,
    RunEvent,
    ServiceStarting,
    SessionEnded,
    SessionStarted,
    StoppingOutlook,
    TrialEnded,
    TrialRecalled,
    TrialStarted,
    Waiting,
    WorkerNotice,
)
from trialwise.experiment.machine_names import LOCAL
from trialwise.experiment.model import Experiment
from trialwise.measurement.samples import Samples
from trialwise.store.records import TrialRow
from trialwise.visible import cell_width, visible

if TYPE_CHECKING:
    from trialwise.analysis.versions.live import LiveChange

REDRAW_SECONDS = 0.2
"""Minimum interval between redraws of the bar, in seconds; it does not delay short trials."""
WIDTH_SECONDS = 1.0
"""Minimum interval between updates of the widths, in seconds."""
MAX_WIDTHS = 6
NEWS = 0.25
"""Relative change of a forecast that is worth a log line."""
LINE_SECONDS = 10.0
"""Minimum interval between lines about finished trials in a log, in seconds; the last trial always gets a line."""
MAX_OPEN = 6
"""Maximum number of undecided claims shown."""


class LiveNumbers(Protocol):
    """Collects finished trials, and says what is known so far."""

    def add(self, row: TrialRow, samples: Mapping[str, Samples]) -> None:
        """Add the report of a finished trial."""
        ...

    def widths(self) -> Sequence[Width | LiveChange]:
        """Return what is known so far, most important first."""
        ...


def observer(
    console: Console, experiment: Experiment, *, terminal: bool, live: LiveNumbers | None = None
) -> Observer:
    """Return the observer that suits standard error; `live` says what is shown instead of the widths of KPIs."""
    if not terminal:
        return Lines(console)
    return Bar(console, live or LiveWidths(experiment), runtime=experiment.runtime)


class Lines:
    """A log: the first and the last trial, one in between every `LINE_SECONDS`, each new reason for a failure, and all news."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._printed = float("-inf")
        self._failure: str | None = None
        self._announced = 0
        self._course = Course()

    def notice(self, event: RunEvent) -> None:
        """Print what matters for a log."""
        self._course.notice(event)
        if isinstance(event, StoppingOutlook):
            self._look_ahead(event)
        if self._deserves_a_line(event) and (text := describe(event)):
            line = f"{time_text(time.time())} {self._place(event)}{text}"
            self._console.print(line, markup=False, soft_wrap=True)

    def _deserves_a_line(self, event: RunEvent) -> bool:
        if not isinstance(event, TrialEnded):
            return True
        now = self._clock()
        new_failure = event.outcome.status != "finished" and event.outcome.reason != self._failure
        if not new_failure and not self._course.is_done and now - self._printed < LINE_SECONDS:
            return False
        if event.outcome.status != "finished":
            self._failure = event.outcome.reason
        self._printed = now
        return True

    def _look_ahead(self, event: StoppingOutlook) -> None:
        """Print a line if the expected number of trials has changed much."""
        if event.total is not None and abs(event.total - self._announced) > NEWS * self._announced:
            self._announced = event.total
            what = "trials are the pilot" if event.pilot else "trials in all are expected"
            for text in (f"{event.total} {what}", *event.texts[:MAX_OPEN]):
                self._console.print(f"{time_text(time.time())} {text}", markup=False, soft_wrap=True)

    def _place(self, event: RunEvent) -> str:
        return f"[{', '.join(self._course.parts())}] " if isinstance(event, TrialEnded) else ""


class Bar:
    """A bar with ETA, the trial in progress, and the widths of the intervals."""

    def __init__(self, console: Console, widths: LiveNumbers, *, runtime: float | None) -> None:
        self._widths = widths
        self._shown: Sequence[Width | LiveChange] = []
        self._runtime = runtime
        self._lasted: dict[str, float] = {}
        self._course = Course()
        self._past: list[TrialRecalled] = []
        self._failed = 0
        self._hands: dict[str | None, str] = {}
        self._open: tuple[str, ...] = ()
        self._drawn = self._computed = float("-inf")
        self._live = Live(console=console, auto_refresh=False, transient=False)

    def notice(self, event: RunEvent) -> None:  # noqa: C901, PLR0912 one case for each event
        """Redraw what has changed."""
        self._course.notice(event)
        match event:
            case TrialRecalled():
                self._recalled(event)
            case SessionStarted():
                self._begin()
            case Waiting():
                self._hands = {None: describe(event) or ""}
                self._draw(at_once=True)
            case Resetting():
                self._hands[event.row.worker] = "reset"
                self._draw()
            case ServiceStarting():
                self._hands[event.row.worker] = f"start of service {event.name}"
                self._draw()
            case TrialStarted():
                self._hands.pop(None, None)
                self._hands[event.row.worker] = self._trial_text(event.row)
                self._draw(at_once=self._expected(event.row) > REDRAW_SECONDS)
            case Computing():
                self._hands = {None: computing_text(event)}
                self._draw()
            case NodesAwaited():
                self._hands = {None: AWAITED}
                self._draw(at_once=True)
            case TrialEnded():
                self._ended(event)
            case StoppingOutlook():
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
        """Keep the trials of the latest series, for which intervals are shown; nothing is read yet."""
        if self._past and self._past[-1].row.series != event.row.series:
            self._past.clear()
        self._past.append(event)

    def _begin(self) -> None:
        for past in self._past:
            self._widths.add(past.row, past.samples())
        self._past.clear()
        self._live.start()

    def _ended(self, event: TrialEnded) -> None:
        outcome = event.outcome
        self._failed += event.is_last and outcome.status != "finished"
        if outcome.status == "finished":
            self._widths.add(event.row, outcome.samples)
            if outcome.started is not None:
                self._lasted[event.row.treatment] = outcome.finished - outcome.started

    # Drawing

    def _expected(self, row: TrialRow) -> float:
        """Return the expected duration of the trial: that of the last of its treatment, else the file's; unknown counts as long."""
        lasted = self._lasted.get(row.treatment, self._runtime)
        return float("inf") if lasted is None else lasted

    def _trial_text(self, row: TrialRow) -> str:
        expected = self._expected(row)
        now = time.time()
        until = f", ends about {time_text(now + expected)}" if expected != float("inf") else ""
        where = "" if row.worker in (None, LOCAL) else f"{row.worker}: "
        return f"{where}trial {row.number} since {time_text(now)}{until}: {row.treatment}"

    def _draw(self, *, at_once: bool = False, final: bool = False) -> None:
        now = time.monotonic()
        if not at_once and now - self._drawn < REDRAW_SECONDS:
            return
        if final or now - self._computed >= WIDTH_SECONDS:
            self._shown, self._computed = self._widths.widths(), now
        self._live.update(self._picture(), refresh=True)
        self._drawn = time.monotonic()

    def _picture(self) -> RenderableType:
        line = Table.grid(padding=(0, 1), expand=False)
        count, *left = self._course.parts()
        parts = [count, *([f"{self._failed} failed"] if self._failed else []), *left]
        bar = ProgressBar(total=max(self._course.total, 1), completed=self._course.done, width=24)
        line.add_row(bar, _OneLine(" · ".join(parts)))
        # An open claim ends with its forecast, which a narrow terminal must not cut off.
        opened = [Text(text) for text in self._open[:MAX_OPEN]]
        further = len(self._open) - MAX_OPEN
        more = [f"and {further} more open"] if further > 0 else []
        widths = [width_text(width) for width in self._shown[:MAX_WIDTHS]]
        return Group(line, *map(_OneLine, self._hands.values()), *opened, *map(_OneLine, [*more, *widths]))


@dataclass(frozen=True, slots=True)
class _OneLine:
    """A line that drops its last words in a narrow terminal."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(whole_words(visible(self.text), options.max_width), no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        width = min(cell_width(visible(self.text)), options.max_width)
        return Measurement(min(width, 1), width)
