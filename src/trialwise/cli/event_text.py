"""Events of a running experiment in words, one line each."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trialwise.analysis.interval_widths import Width
from trialwise.execution.events import (
    ClockDisturbed,
    Computing,
    EnvironmentChanged,
    Interrupted,
    NodesAwaited,
    PathChanged,
    Remarked,
    RunEvent,
    SessionStarted,
    StopRequested,
    TrialEnded,
    Waiting,
    WorkerNotice,
)
from trialwise.experiment.machine_names import LOCAL
from trialwise.experiment.quantity import duration_text
from trialwise.numbers import as_given, counted, interval, with_bounds
from trialwise.report.numbers import write

if TYPE_CHECKING:
    from trialwise.analysis.versions.live import LiveChange

LONG_SECONDS = 10.0
"""Trials in progress for longer than this are shown with their start time."""
AWAITED = "no node is there: waiting for one"


def describe(event: RunEvent) -> str | None:  # noqa: C901, PLR0911, PLR0912 one sentence for each event
    """Describe an event in a line, or return None if it is not worth one."""
    match event:
        case SessionStarted() if event.done or event.reclaimed:
            again = f", {event.reclaimed} abandoned by a kill will run again" if event.reclaimed else ""
            return f"going on: {event.done} of {event.total} trials are done{again}"
        case Waiting():
            return f"waiting until {time_text(event.until)} for {event.for_}"
        case NodesAwaited():
            return AWAITED
        case TrialEnded():
            return _trial_ended(event)
        case EnvironmentChanged():
            return f"the environment has changed ({event.text}); what follows is a series of its own"
        case PathChanged():
            return f"the path has changed: {event.text}"
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


def computing_text(event: Computing) -> str:
    """Say how much is computed concurrently, and where."""
    where = f" of {event.nodes} nodes" if event.nodes > 1 else ""
    trials = f"{event.trials} trial{'s' if event.trials != 1 else ''}"
    since = "" if event.oldest is None or time.time() - event.oldest < LONG_SECONDS else _since(event.oldest)
    return f"{trials} in hand on {event.cores} core{'s' if event.cores > 1 else ''}{where}{since}"


def _since(moment: float) -> str:
    return f", the first since {time_text(moment)} ({duration_text(round(time.time() - moment))})"


def _trial_ended(event: TrialEnded) -> str:
    outcome = event.outcome
    took = "" if outcome.started is None else f" in {duration_text(outcome.finished - outcome.started)}"
    reason = f": {outcome.reason}" if outcome.reason else ""
    where = "" if event.row.worker in (None, LOCAL) else f" on {event.row.worker}"
    again = "" if event.is_last or outcome.status == "abandoned" else "; it is tried again"
    return f"trial {event.row.number} {event.row.treatment} {outcome.status}{took}{where}{reason}{again}"


def width_text(width: Width | LiveChange) -> str:
    """Write a width as "throughput p50 ±3.1 %", or how many trials are missing; a change as "./new: time -3.1 % (-4.0 to -2.2)"."""
    if not isinstance(width, Width):
        ends = (width.percent.estimate, width.percent.low, width.percent.high)
        value, low, high = with_bounds(*ends, sign=True)
        bounds = f"{interval(low, high)}; {as_given(width.confidence)} %"
        return f"{width.command}: {width.metric} {value} % ({bounds}) so far"
    name = f"{width.metric} p{as_given(width.percentile)}"
    if width.relative is None:
        return f"{name}: {counted(width.missing, 'more round')} for an interval at {as_given(width.confidence)} %"
    if math.isinf(width.relative):
        return f"{name}: the interval at {as_given(width.confidence)} % is still open at one end"
    return f"{name} ±{write(width.relative * 100, digits=2)} % at {as_given(width.confidence)} %"


def time_text(moment: float) -> str:
    """Write a local time of day, with the date if it is not today."""
    local = datetime.fromtimestamp(moment, UTC).astimezone()
    today = datetime.now(UTC).astimezone().date()
    return f"{local:%H:%M:%S}" if local.date() == today else f"{local:%Y-%m-%d %H:%M:%S}"
