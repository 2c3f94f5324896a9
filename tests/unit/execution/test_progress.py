from __future__ import annotations

import dataclasses
import io
import re
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from rich.console import Console

from trialwise.analysis.interval_widths import LiveWidths, Width
from trialwise.cli import output
from trialwise.cli.event_text import width_text
from trialwise.cli.progress import LINE_SECONDS, Bar, Lines, observer
from trialwise.cli.throttle import Course, Pace
from trialwise.execution.events import (
    Computing,
    NodesAwaited,
    SessionEnded,
    SessionStarted,
    StoppingOutlook,
    TreatmentsSkipped,
    TrialEnded,
    TrialStarted,
    Waiting,
)
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.trials import PathFlow, PathTrial
from trialwise.store.records import TrialRow
from trialwise.trials.base import TrialOutcome

EXPERIMENT = parse_experiment(
    '[experiment]\nname = "x"\n[trial]\ncommand = "true"\n[metrics.time]\nresource = "wall"\n',
    Path("x.toml"),
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _trial(number: int) -> TrialRow:
    return TrialRow(
        number, 1, "running", "-", {}, 1, number, 1, "random", 1, warmup=False, planned_start=None
    )


def _ended(number: int) -> TrialEnded:
    return TrialEnded(_trial(number), TrialOutcome("finished", 0.0, 1.0))


def test_the_pace_leaves_waiting_and_the_beginning_out_and_knows_the_last_start():
    clock = Clock()
    pace = Pace(clock)
    clock.now = 100.0
    pace.notice(TrialStarted(_trial(1)))
    assert pace.left(10, now=0.0) is None
    pace.notice(_ended(1))
    pace.notice(Waiting(time.time() + 10.0))
    pace.notice(TrialStarted(_trial(2)))
    clock.now = 130.0
    pace.notice(_ended(2))
    assert pace.left(5, now=0.0) == pytest.approx(50.0, abs=0.1)
    assert pace.left(0, now=0.0) is None
    pace.notice(SessionStarted(None, 2, 7, 0, last_start=1000.0))
    assert pace.left(5, now=400.0) == pytest.approx(610.0, abs=0.1)
    assert pace.left(5, now=2000.0) == pytest.approx(50.0, abs=0.1)


def test_the_pace_of_computed_trials_begins_when_the_first_that_came_together_have_ended():
    clock = Clock()
    pace = Pace(clock)
    pace.notice(Computing(2, cores=2, nodes=1))
    clock.now = 60.0  # processes start, and two trials end
    pace.notice(_ended(1))
    pace.notice(_ended(2))
    assert pace.left(100, now=0.0) is None
    clock.now = 62.0
    pace.notice(_ended(3))
    pace.notice(_ended(4))
    assert pace.left(100, now=0.0) == pytest.approx(100.0)


def test_a_width_is_relative_or_says_what_is_missing():
    assert width_text(Width("speed", 50, 95, 0.031, 0)) == "speed p50 ±3.1 % at 95 %"
    assert width_text(Width("speed", 95, 95, None, 57)) == "speed p95: 57 more rounds for an interval at 95 %"
    assert (
        width_text(Width("speed", 75, 95, float("inf"), 0))
        == "speed p75: the interval at 95 % is still open at one end"
    )


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(5, "the terminal is gone")


def test_messages_fall_silent_when_nobody_can_read_them():
    console = output.stderr_console()
    assert isinstance(console, Console)
    console.file = Gone()
    console.print("first")
    assert console.quiet


def test_a_run_that_waits_for_nodes_says_so():
    written = io.StringIO()
    lines = Lines(Console(file=written, width=80))
    lines.notice(SessionStarted(None, done=0, total=9, reclaimed=0))
    lines.notice(NodesAwaited())
    assert written.getvalue().endswith("no node is there: waiting for one\n")
    bar = Bar(
        Console(file=(drawn := io.StringIO()), width=80, force_terminal=True, color_system=None),
        LiveWidths(EXPERIMENT),
        runtime=None,
    )
    bar.notice(SessionStarted(None, done=0, total=9, reclaimed=0))
    bar.notice(NodesAwaited())
    assert "no node is there: waiting for one" in drawn.getvalue()
    bar.notice(SessionEnded("worker lost"))


def _log(trials: Iterable[TrialEnded], seconds: float) -> list[str]:
    """Lines of a log about 50 trials of which one ends every so many seconds."""
    clock, written = Clock(), io.StringIO()
    lines = Lines(Console(file=written, width=200), clock)
    lines.notice(SessionStarted(None, done=0, total=50, reclaimed=0))
    for trial in trials:
        clock.now += seconds
        lines.notice(trial)
    return written.getvalue().splitlines()


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.001, [1, 50]), (1.0, [1, 11, 21, 31, 41, 50]), (10.0, [*range(1, 51)])]
)
def test_a_log_has_a_line_in_ten_seconds_at_most_and_one_of_the_last_trial(seconds: float, told: list[int]):
    lines = _log(map(_ended, range(1, 51)), seconds)
    assert [int(line.split(" trial ")[1].split()[0]) for line in lines] == told


def test_a_log_has_each_new_reason_of_a_failure_at_once_and_the_same_one_not_again():
    failures = ["no file"] * 20 + ["exit code 1"] * 20 + ["no file"] * 9
    ended = [
        TrialEnded(_trial(place), TrialOutcome("failed", 0.0, 1.0, reason=reason))
        for place, reason in enumerate(failures, 1)
    ]
    lines = _log(ended, 0.001)
    assert [line.partition("]")[0].partition("[")[2].partition("/")[0] for line in lines] == ["1", "21", "41"]
    assert "exit code 1" in lines[1]


def test_every_kind_of_trial_has_the_same_log():
    trial = PathTrial((PathFlow("udp-cubic"),), "p", runtime=1.0, engine="simulated")
    for experiment in (EXPERIMENT, dataclasses.replace(EXPERIMENT, trial=trial)):
        written = io.StringIO()
        begun = time.monotonic()
        told = observer(Console(file=written, width=200), experiment, terminal=False)
        for number in range(1, 51):
            told.notice(_ended(number))
        assert 1 <= written.getvalue().count("finished") <= 1 + (time.monotonic() - begun) // LINE_SECONDS


def in_hand(ago: float) -> str:
    """What a terminal says of two trials of which the first was handed out so many seconds ago."""
    console = Console(file=(drawn := io.StringIO()), width=80, force_terminal=True, color_system=None)
    bar = Bar(console, LiveWidths(EXPERIMENT), runtime=None)
    bar.notice(SessionStarted(None, done=0, total=9, reclaimed=0))
    bar.notice(Computing(2, cores=2, nodes=1, oldest=time.time() - ago))
    bar.notice(SessionEnded("complete"))
    return next(line.strip() for line in drawn.getvalue().splitlines() if "in hand" in line)


def test_of_long_trials_a_terminal_says_since_when_they_are_in_hand():
    assert in_hand(0.0) == "2 trials in hand on 2 cores"
    assert re.fullmatch(r"2 trials in hand on 2 cores, the first since .+ \(1h 15min\)", in_hand(4500.0))


def test_a_narrow_terminal_shows_the_whole_of_what_is_open():
    text = "p99 scheme=dctcp: p99 of all samples ±4 %: open, now ±7.7 %, about 2,630 trials (2,041 to 3,517) are expected"
    written = io.StringIO()
    console = Console(file=written, width=80, force_terminal=True, color_system=None)
    bar = Bar(console, LiveWidths(EXPERIMENT), runtime=None)
    bar.notice(SessionStarted(None, done=0, total=9, reclaimed=0))
    bar.notice(StoppingOutlook(9, (text,), pilot=False))
    bar.notice(SessionEnded("complete"))
    assert "(2,041 to 3,517) are expected" in " ".join(written.getvalue().split())


def test_what_is_not_yet_forecast_is_called_the_most_and_a_forecast_about():
    written = io.StringIO()
    clock = Clock()
    lines = Lines(Console(file=written, width=200), clock)
    lines.notice(SessionStarted(None, done=0, total=900, reclaimed=0))
    for outlook in (StoppingOutlook(None, ()), StoppingOutlook(40, (), pilot=True), StoppingOutlook(70, ())):
        clock.now += 10.0
        lines.notice(outlook)
        lines.notice(_ended(1))
    places = [line.split("[")[1].split("]")[0] for line in written.getvalue().splitlines() if "[" in line]
    assert [place.split(",")[0] for place in places] == ["1 of at most 900", "2/40", "3 of about 70"]
    assert all(part.startswith("about") for part in places[2].split(", ")[1:])


def test_the_total_is_that_of_the_trials_that_are_left_when_some_are_skipped():
    course = Course()
    course.notice(SessionStarted(None, 2, 10, 0))
    course.notice(TreatmentsSkipped(frozenset({"a=1"}), 6))
    assert course.parts()[0] == "2/6"
    course.notice(StoppingOutlook(40, ()))
    course.notice(TreatmentsSkipped(frozenset(), 10))
    assert course.parts()[0] == "2 of about 40"
