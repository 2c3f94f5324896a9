"""The runner on a machine whose clock goes on only when somebody waits: hours of an experiment, in milliseconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_time import FakeRun
from trialwise.errors import PlanError
from trialwise.store.records import TrialRow

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
