"""What a reset is made of, when it is due, and whether a machine has really rebooted."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from trialwise import study
from trialwise.design.plan import make_plan
from trialwise.errors import TrialError
from trialwise.execution.create import planned_row
from trialwise.execution.reset import is_due, reset_steps, wait_for_another_boot
from trialwise.experiment.model import FreshDirectory, Reset
from trialwise.experiment.reading import parse_experiment

TEXT = """
[experiment]
name = "x"
[factors]
a = [1, 2]
[trial]
command = "true {a}"
[metrics.m]
resource = "wall"
[design]
rounds = 2
series = 2
warmup_trials = 1
order = "fixed"
"""


@pytest.mark.parametrize(
    ("every", "trials"), [("trial", range(1, 13)), ("round", range(1, 13, 2)), ("series", (1, 7))]
)
def test_when_a_reset_is_due(every, trials):
    rows = [planned_row(trial) for trial in make_plan(parse_experiment(TEXT, Path("/x/e.toml"))).trials]
    reset = Reset(command=("sync",), every=every)
    due = [row.number for before, row in itertools.pairwise((None, *rows)) if is_due(reset, before, row)]
    assert due == list(trials)
    assert is_due(reset, None, rows[4])  # a session that goes on in the middle
    assert not is_due(None, None, rows[0])


def test_a_service_is_stopped_while_its_directory_is_emptied():
    reset = Reset(
        service="db@{a}", directory=FreshDirectory("work", "clean"), command=("echo", "{a}"), drop_caches=True
    )
    steps = reset_steps(reset, Path("/exp"), {"a": 3})
    assert [step.key.partition(".")[2] for step in steps] == [
        "service", "directory", "service", "command", "drop_caches",
    ]  # fmt: skip
    assert (steps[0].words[1], steps[2].words[-2:], steps[3].words[1]) == ("stop", ("start", "db@3"), "3")
    assert steps[0].words == ("systemctl", "stop", "--", "db@3")
    assert steps[1].words[-2:] == ("/exp/work", "/exp/clean")
    alone = reset_steps(replace(reset, directory=None), Path("/exp"), {"a": 3})
    assert alone[0].words[-2:] == ("restart", "db@3")


class Machine:
    """A machine whose boot id is read from a list, and a clock that only waiting moves."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.time = 0.0

    def read(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def wait(self, timeout):
        return wait_for_another_boot("a", self.read, timeout=timeout, now=lambda: self.time, sleep=self.sleep)

    def sleep(self, seconds):
        self.time += seconds


def test_a_reboot_is_over_when_the_boot_id_is_another():
    machine = Machine("a", "a", None, None, "", "b")
    assert machine.wait(60) == "b"
    assert machine.time == 5


def test_a_machine_that_answers_again_with_the_same_boot_id_has_not_rebooted():
    with pytest.raises(TrialError, match=r"has not rebooted within 10 s: its boot id is still a"):
        Machine("a", None, "a").wait(10)
    with pytest.raises(TrialError, match=r"has not come back within 10 s"):
        Machine("a", None).wait(10)


def test_a_trial_begins_when_the_time_to_settle_is_over(tmp_path):
    settle, times = 0.4, tmp_path / "times"
    text = TEXT.replace("series = 2\nwarmup_trials = 1", "series = 1")
    (tmp_path / "e.toml").write_text(
        text.replace("true {a}", f"sh -c 'date +t%s.%N >> {times}' {{a}}")
        + f"""
[reset]
command = "sh -c 'date +r%s.%N >> {times}'"
every = "round"
settle = "{settle}s"
"""
    )
    assert study.run(tmp_path / "e.toml", tmp_path / "r").counts == {"finished": 4}
    told = [(line[0], float(line[1:])) for line in times.read_text().split()]
    assert [what for what, _ in told] == list("rttrtt")
    assert all(told[at + 1][1] - told[at][1] >= settle for at in (0, 3))
