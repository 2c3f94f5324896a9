"""The runner on a machine whose clock goes on only when somebody waits: hours of an experiment, in milliseconds."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from fake_time import FakeRun
from trialwise.analysis.retries import retries_text
from trialwise.analysis.skips import skips_text
from trialwise.errors import PlanError, StoreError
from trialwise.execution.events import Remarked, RunEvent, TrialEnded, Waiting
from trialwise.execution.limits import SomeRounds
from trialwise.execution.stopping import RunThePlan
from trialwise.store.records import TrialRow
from trialwise.study.pausing import pause
from trialwise.study.skipping import skip

FILE = """
[experiment]
name = "fake"
seed = 1

[factors]
scheme = ["a", "b"]

[trial]
command = "true {scheme}"

[metrics.time]
resource = "wall"

[design]
rounds = 3
series = 1
"""
RESET = """
[reset]
command = "true"
every = "trial"
settle = "90s"
"""
SPAN = """span = "2h"
"""


@pytest.fixture(autouse=True)
def rarely(monkeypatch: pytest.MonkeyPatch):
    """Look for orders once a minute of fake time."""
    monkeypatch.setattr("trialwise.execution.runner.LOOK_SECONDS", 60.0)


def test_the_plan_is_run_trial_by_trial(tmp_path: Path):
    run = FakeRun(tmp_path, FILE, lasts=20)
    assert run.go().reason == "complete"
    assert [row.status for row in run.rows()] == ["finished"] * 6
    first, *_ = run.kind.began
    assert run.kind.began == [first + 20 * number for number in range(6)]


def test_a_machine_settles_after_each_reset(tmp_path: Path):
    run = FakeRun(tmp_path, FILE + RESET)
    run.host.reset_takes = 30
    assert run.go().reason == "complete"
    assert run.clock.waited == [90] * 6
    between = [began - reset for reset, began in zip(run.host.resets, run.kind.began, strict=True)]
    assert between == pytest.approx([120] * 6)


def test_a_reset_that_fails_ends_the_run_and_the_trial_stays_planned(tmp_path: Path):
    run = FakeRun(tmp_path, FILE + RESET)
    run.host.problem = "exit code 1"
    assert (run.go().reason, run.kind.began) == ("reset failed", [])
    assert {row.status for row in run.rows()} == {"planned"}
    assert ("reset failed", "exit code 1") in run.events()


def test_rounds_that_are_due_later_are_waited_for(tmp_path: Path):
    run = FakeRun(tmp_path, FILE + SPAN, lasts=60)
    assert run.go().reason == "complete"
    planned = [row.planned_start for row in run.rows() if row.position == 1]
    begun = run.kind.began[::2]
    assert None not in planned
    assert [moment - begun[0] for moment in begun] == pytest.approx(
        [moment - planned[0] for moment in planned], abs=0.1
    )
    assert sum(run.clock.waited) > 3600


def test_a_request_while_it_waits_ends_the_run_before_the_next_trial(tmp_path: Path):
    run = FakeRun(tmp_path, FILE + RESET)
    asked = run.clock.realtime + 1e9
    run.clock.realtime = asked - 45
    assert run.go(requests=[asked]).reason == "interrupted"
    assert run.kind.began == []
    assert {row.status for row in run.rows()} == {"planned"}
    assert run.go().reason == "complete"
    assert len(run.kind.began) == 6


def test_a_machine_that_slept_and_a_clock_that_was_set_are_written_down(tmp_path: Path):
    run = FakeRun(tmp_path, FILE)

    def script(request):
        if request.number == 2:
            run.clock.sleep_machine(90)
        if request.number == 4:
            run.clock.step(-3600)
        return {}

    run.script = script
    run.__post_init__()
    assert run.go().reason == "complete"
    told = [text for kind, text in run.events() if kind == "clock"]
    assert told == [
        "the machine slept for 1min 30s, before or during trial 2",
        "the clock was set back by 1h, before or during trial 4",
    ]


def test_failures_and_what_is_given_up_stay_on_record(tmp_path: Path):
    run = FakeRun(
        tmp_path,
        FILE,
        script=lambda request: {"status": "failed", "reason": "no"} if request.number == 3 else {},
    )
    assert run.go().reason == "complete"
    assert [row.status for row in run.rows()] == ["finished"] * 2 + ["failed"] + ["finished"] * 3
    assert run.rows()[2].reason == "no"


class After:
    """A rule that has enough after some rounds."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:
        return "enough" if upcoming.round > self.rounds else None


def test_a_rule_is_asked_before_each_round_and_what_is_left_stays_planned(tmp_path: Path):
    run = FakeRun(tmp_path, FILE)
    ending = run.go(stopping=After(2))
    assert (ending.reason, ending.text) == ("stopped", "enough")
    assert [row.status for row in run.rows()] == ["finished"] * 4 + ["planned"] * 2


def test_more_rounds_go_on_with_the_sequence_and_fewer_are_refused(tmp_path: Path):
    run = FakeRun(tmp_path, FILE)
    run.go()
    before = [(row.factors, row.seed) for row in run.rows()]
    run.text = FILE.replace("rounds = 3", "rounds = 2")
    with pytest.raises(PlanError, match="can only become longer"):
        run.go(extend=True)
    run.text = FILE.replace("rounds = 3", "rounds = 5")
    assert run.go(extend=True).reason == "complete"
    after = [(row.factors, row.seed) for row in run.rows()]
    assert (after[:6], len(after)) == (before, 10)


RETRY = "retry = {{ on = [{}], times = 2 }}\n[metrics.time]"


def _retrying(*on: str) -> str:
    return FILE.replace("[metrics.time]", RETRY.format(", ".join(f'"{each}"' for each in on)))


@pytest.mark.parametrize(
    ("on", "outcome", "attempts"),
    [
        ("failed", {"status": "failed"}, 3),
        ("failed", {"status": "failed", "cause": "timeout"}, 3),
        ("timeout", {"status": "failed", "cause": "timeout"}, 3),
        ("lost", {"status": "failed", "cause": "lost"}, 3),
        ("service", {"status": "invalid", "cause": "service"}, 3),
        ("invalid", {"status": "invalid", "cause": "service"}, 3),
        ("timeout", {"status": "failed"}, 1),
        ("service", {"status": "invalid"}, 1),
        ("invalid", {"status": "failed"}, 1),
    ],
)
def test_what_a_rule_names_is_tried_again_at_once_up_to_its_limit(tmp_path: Path, on, outcome, attempts):
    run = FakeRun(
        tmp_path, _retrying(on), script=lambda request: outcome if request.number == 3 else {}, lasts=20
    )
    assert run.go().reason == "complete"
    rows = run.rows()
    assert [row.number for row in sorted(rows, key=lambda row: row.started or 0)] == [
        *(1, 2),
        *[3] * attempts,
        *(4, 5, 6),
    ]
    assert [(row.attempt, row.status) for row in rows if row.number == 3] == [
        (attempt, outcome["status"]) for attempt in range(1, attempts + 1)
    ]
    assert {(row.seed, row.round, row.position) for row in rows if row.number == 3} == {
        (rows[2].seed, rows[2].round, rows[2].position)
    }


def test_a_trial_that_finishes_in_a_retry_counts_once_and_is_named(tmp_path: Path):
    run = FakeRun(
        tmp_path,
        _retrying("failed"),
        script=lambda request: {"status": "failed"} if (request.number, request.attempt) == (3, 1) else {},
    )
    seen = Seen()
    assert run.go(observers=[seen]).reason == "complete"
    assert [(event.row.number, event.is_last) for event in seen.ended] == [
        *[(1, True), (2, True), (3, False), (3, True), (4, True), (5, True), (6, True)]
    ]
    (text,) = retries_text(run.rows())
    assert "1 trial measured in a retry, after 1 attempt without a value: 3 (attempt 2)" in text
    ledger = run.directory.ledger()
    assert (ledger.ended(), ledger.planned_number(), ledger.unsuccessful()) == (6, 6, [])
    assert [row[0] for row in ledger.linked_trials()] == [1, 2, 3, 4, 5, 6, 7]
    ledger.close()


def test_a_kill_between_attempts_loses_no_retry_and_adds_none(tmp_path: Path):
    """The attempt and its successor are one transaction, and attempts of earlier runs count."""

    def script(request):
        if (request.number, request.attempt) == (3, 2):
            raise KeyboardInterrupt
        return {"status": "failed"} if request.number == 3 else {}

    run = FakeRun(tmp_path, _retrying("failed"), script=script)
    with pytest.raises(KeyboardInterrupt):
        run.go()
    ledger = run.directory.ledger(read_only=False)
    ledger.abandon_running("the runner was killed during this trial")
    ledger.close()
    run.script = lambda request: {"status": "failed"} if request.number == 3 else {}
    run.__post_init__()
    assert run.go().reason == "complete"
    assert [row.status for row in run.rows() if row.number == 3] == [
        "failed",
        "abandoned",
        "failed",
        "failed",
    ]


class Seen:
    """The trials that ended."""

    def __init__(self) -> None:
        self.ended: list[TrialEnded] = []

    def notice(self, event: RunEvent) -> None:
        if isinstance(event, TrialEnded):
            self.ended.append(event)


def test_a_treatment_that_is_skipped_while_it_runs_is_not_measured_from_the_next_trial_on(tmp_path: Path):
    def script(request):
        if request.number == 2:
            skip(run.directory.path, ["scheme=b"], "b hangs", who="ann")
        return {}

    run = FakeRun(tmp_path, FILE, script=script)
    told = Told()
    ending = run.go(observers=[told])
    ran = [row for row in run.rows() if row.status == "finished"]
    assert [row.number for row in ran if row.number <= 2] == [1, 2]
    assert all(row.treatment == "scheme=a" for row in ran if row.number > 2)
    assert {row.treatment for row in run.rows() if row.status == "skipped"} == {"scheme=b"}
    assert (ending.reason, ending.text) == (
        "complete",
        "every planned trial has come to an end; 2 of skipped treatments have not run",
    )
    assert any(text.startswith("scheme=b is skipped by ann on ") for text in told.texts)
    ledger = run.directory.ledger()
    assert (ledger.planned_number(), ledger.ended()) == (4, 4)
    (text,) = skips_text(ledger, ledger.trials())
    assert text.startswith("scheme=b: skipped by ann on ")
    assert text.endswith("UTC: b hangs; 2 trials not measured")
    ledger.close()
    skip(run.directory.path, ["scheme=b"], "", undo=True)
    assert run.go().text == "every planned trial has come to an end"
    assert {row.status for row in run.rows()} == {"finished"}


def test_a_run_pauses_after_the_running_trial_and_goes_on(tmp_path: Path):
    def script(request):
        if request.number == 3 and request.attempt == 1:
            pause(run.directory.path, "noon", who="ann")
        return {}

    run = FakeRun(tmp_path, FILE, script=script)
    ending = run.go()
    assert ending.reason == "paused"
    assert ending.text.startswith("by ann on ")
    assert f": noon; `trialwise run {run.directory.path}` goes on" in ending.text
    assert [row.status for row in run.rows()] == ["finished"] * 3 + ["planned"] * 3
    assert run.go().reason == "complete"


def test_a_pause_ends_the_wait_for_a_round(tmp_path: Path):
    run = FakeRun(tmp_path, FILE + SPAN)
    assert run.go(observers=[Asks(run)]).reason == "paused"
    assert sum(run.clock.waited) <= 60
    with pytest.raises(StoreError, match="no run is at work"):
        pause(run.directory.path)


class Told:
    """What was remarked."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def notice(self, event: RunEvent) -> None:
        if isinstance(event, Remarked):
            self.texts.append(event.text)


class Asks:
    """Asks to pause where the run waits for a round."""

    def __init__(self, run: FakeRun) -> None:
        self._run = run

    def notice(self, event: RunEvent) -> None:
        if isinstance(event, Waiting):
            pause(self._run.directory.path)


@pytest.mark.parametrize("first", [1, 2])
def test_some_rounds_now_and_the_rest_later(tmp_path: Path, first: int):
    run = FakeRun(tmp_path, FILE)
    ending = run.go(stopping=SomeRounds(RunThePlan(), first))
    assert ending.reason == "stopped"
    assert [row.number for row in run.rows() if row.status == "finished"] == list(range(1, 2 * first + 1))
    assert run.go(stopping=SomeRounds(RunThePlan(), 3)).reason == "complete"


def test_a_round_that_was_begun_before_counts_and_the_rule_of_the_experiment_comes_first(tmp_path: Path):
    run = FakeRun(tmp_path, FILE, script=lambda request: {} if request.number != 1 else pause_of(run))
    assert run.go().reason == "paused"
    run.go(stopping=SomeRounds(RunThePlan(), 1))
    assert [row.number for row in run.rows() if row.status == "finished"] == [1, 2]
    assert run.go(stopping=SomeRounds(After(1), 2)).text == "enough"


def test_the_warmup_of_a_series_comes_with_its_first_round(tmp_path: Path):
    run = FakeRun(tmp_path, FILE.replace("series = 1", "series = 2\nwarmup_trials = 1"))
    assert run.go(stopping=SomeRounds(RunThePlan(), 1)).reason == "stopped"
    assert [(row.warmup, row.round) for row in run.rows() if row.status == "finished"] == [
        *[(True, 1)] * 2,
        *[(False, 1)] * 2,
    ]


def pause_of(run: FakeRun) -> dict[str, object]:
    pause(run.directory.path)
    return {}


BERLIN = "Europe/Berlin"


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", BERLIN)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_berlin")
def test_trials_run_between_two_times_of_day_and_the_wait_is_recorded(tmp_path: Path):
    """Trials of 3 h between 22:00 and 06:00: two a night, also in the night of 7 hours of 28 March 2027."""
    run = FakeRun(tmp_path, FILE.replace("rounds = 3", 'rounds = 3\nbetween = "22:00-06:00"'), lasts=3 * 3600)
    run.clock.realtime = datetime(2027, 3, 27, 12, tzinfo=UTC).timestamp()
    told = Told()
    assert run.go(observers=[told]).reason == "complete"
    began = [
        datetime.fromtimestamp(moment, ZoneInfo(BERLIN)).strftime("%d %H:%M") for moment in run.kind.began
    ]
    assert began == ["27 22:00", "28 01:00", "28 22:00", "29 01:00", "29 22:00", "30 01:00"]
    waited = [text for kind, text in run.events() if kind == "waits"]
    assert waited[0] == (
        "from 2027-03-27 13:00 CET, UTC+01:00 until 2027-03-27 22:00 CET, UTC+01:00 for between = 22:00-06:00"
    )
    assert len(waited) == 3


@pytest.mark.usefixtures("in_berlin")
def test_a_trial_that_no_window_is_long_enough_for_ends_the_run(tmp_path: Path):
    run = FakeRun(tmp_path, FILE.replace("rounds = 3", 'rounds = 3\nbetween = "22:00-23:00"'), lasts=3 * 3600)
    run.clock.realtime = datetime(2027, 6, 1, 20, tzinfo=UTC).timestamp()
    ending = run.go()
    assert ending.reason == "stopped"
    assert "takes about 3h, which no time between 22:00-23:00 has" in ending.text
    assert len(run.kind.began) == 2


@pytest.mark.usefixtures("in_berlin")
def test_a_window_may_be_changed_on_the_way_and_begins_no_epoch(tmp_path: Path):
    run = FakeRun(tmp_path, FILE.replace("rounds = 3", 'rounds = 3\nbetween = "22:00-23:00"'), lasts=3 * 3600)
    run.clock.realtime = datetime(2027, 6, 1, 20, tzinfo=UTC).timestamp()
    assert run.go().reason == "stopped"
    run.text = run.text.replace("22:00-23:00", "08:00-20:00")
    assert run.go().reason == "complete"
    assert {row.epoch for row in run.rows()} == {1}
    ledger = run.directory.ledger()
    assert [each.because for each in ledger.amendments("plan")] == [
        "design.between: 22:00-23:00 → 08:00-20:00"
    ]
    ledger.close()
