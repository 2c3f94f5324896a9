"""Independent trials on processes of this machine: as many as there are, the record is that of one."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import task_trials
from task_trials import DrawnKind, children, facts
from trialwise import study
from trialwise.errors import PlanError
from trialwise.execution.events import RunEvent, TrialEnded
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow


@dataclass
class EndAt:
    """A rule that has enough before a round, by what it was told: observer and rule in one."""

    round: int
    heard: list[int] = field(default_factory=list)
    asked: list[tuple[int, int]] = field(default_factory=list)

    def notice(self, event: RunEvent) -> None:
        if isinstance(event, TrialEnded):
            self.heard.append(event.row.number)

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:
        self.asked.append((upcoming.round, len(self.heard)))
        return "enough" if upcoming.round == self.round else None


def test_one_and_several_processes_leave_the_same_record(tmp_path: Path, run):
    task_trials.write(tmp_path)
    assert run("one", jobs=1).counts == {"finished": 40}
    assert run("three", jobs=3).counts == {"finished": 40}
    assert facts(tmp_path / "one") == facts(tmp_path / "three")


def test_the_rule_hears_every_trial_before_it_is_asked_and_what_lies_beyond_the_end_stays_planned(
    tmp_path: Path, run
):
    task_trials.write(tmp_path)
    rules = {jobs: EndAt(6) for jobs in (1, 3)}
    for jobs, rule in rules.items():
        result = run(f"jobs-{jobs}", jobs=jobs, stopping=rule, observers=[rule])
        assert (result.ending.reason, result.ending.text) == ("stopped", "enough")
        assert result.counts == {"finished": 10, "planned": 30}
    assert rules[1] == rules[3]
    assert rules[3].heard == list(range(1, 11))
    assert rules[3].asked == [(round_, 2 * (round_ - 1)) for round_ in range(1, 7)]
    assert facts(tmp_path / "jobs-1") == facts(tmp_path / "jobs-3")


def test_a_rule_by_results_comes_to_the_same_end_and_so_does_one_that_goes_on(tmp_path: Path, run):
    task_trials.write(tmp_path, rounds=300, stop="12%")
    first, second = run("one", jobs=1), run("three", jobs=3)
    assert first.ending == second.ending
    assert first.ending.reason == "stopped"
    assert 40 < first.counts["finished"] < 500
    assert facts(tmp_path / "one") == facts(tmp_path / "three")
    assert run("three", jobs=2).ending == first.ending
    assert facts(tmp_path / "one") == facts(tmp_path / "three")


@pytest.mark.parametrize(("mishap", "error"), [("raise-3", "ValueError"), ("exit-3", "SystemExit")])
def test_a_trial_that_raises_fails_with_its_reason_and_a_log(tmp_path: Path, run, mishap: str, error: str):
    task_trials.write(tmp_path, rounds=4)
    (tmp_path / mishap).touch()
    result = run("raised", DrawnKind(mishaps=tmp_path), jobs=2)
    assert result.counts == {"finished": 7, "failed": 1}
    (failure,) = study.state(tmp_path / "raised").failures
    assert (failure.number, failure.reason) == (3, f"{error}: planted")
    assert "Traceback" in (tmp_path / "raised/logs/000003-1.txt").read_text()


def test_a_request_to_stop_ends_after_what_is_in_hand_and_the_next_run_goes_on(tmp_path: Path, run):
    task_trials.write(tmp_path, rounds=40)

    class Stopper:
        def notice(self, event: RunEvent) -> None:
            if isinstance(event, TrialEnded) and event.row.number == 11:
                signal.raise_signal(signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    first = run("stopped", DrawnKind(seconds=0.01), jobs=2, observers=[Stopper()])
    assert first.ending.reason == "interrupted"
    assert 11 <= first.counts["finished"] < 80
    assert set(first.counts) == {"finished", "planned"}
    assert children() == []
    assert run("stopped", jobs=2).counts == {"finished": 80}
    run("one", jobs=1)
    assert facts(tmp_path / "one") == facts(tmp_path / "stopped")


def test_a_second_request_does_not_wait_for_long_trials(tmp_path: Path, run):
    task_trials.write(tmp_path)

    class Stopper:
        def notice(self, event: RunEvent) -> None:
            if type(event).__name__ == "Computing":
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)

    begun = time.monotonic()
    result = run("stopped", DrawnKind(seconds=300), jobs=2, observers=[Stopper()])
    assert (result.ending.reason, result.counts) == ("interrupted", {"planned": 40})
    assert time.monotonic() - begun < 60
    assert children() == []


def test_a_part_of_the_plan_leaves_the_rest_planned(tmp_path: Path, run):
    task_trials.write(tmp_path)
    result = run("part", jobs=2, only=["scale=2"])
    assert (result.ending.reason, result.counts) == ("stopped", {"finished": 20, "planned": 20})
    assert run("part", jobs=2).counts == {"finished": 40}
    run("one", jobs=1)
    assert facts(tmp_path / "one") == facts(tmp_path / "part")


def test_the_status_names_who_computes(tmp_path: Path, run):
    task_trials.write(tmp_path)
    run("results", jobs=2)
    (node,) = study.state(tmp_path / "results").nodes
    assert (node.name, node.cores, node.done) == ("local", 2, 40)


def test_samples_of_many_trials_share_a_file_that_the_analysis_reads(tmp_path: Path, run):
    task_trials.write(tmp_path)
    run("results", jobs=2)
    files = list((tmp_path / "results/samples").iterdir())
    assert 1 <= len(files) < 40
    ledger = Ledger.open(tmp_path / "results/ledger.sqlite", read_only=True)
    named = {file for *_, file in ledger.values() if file}
    ledger.close()
    assert named == {f"samples/{file.name}" for file in files}
    found = study.trial_set(tmp_path / "results").of("flows", "scale=2")
    assert found.height == 20


@pytest.mark.parametrize(
    ("settings", "design", "what"),
    [
        ({"jobs": 0}, "", "at least one process"),
        ({"workers": ["ssh://nowhere"]}, "", "--cluster"),
        ({}, '[reset]\ncommand = "true"', "reset"),
        ({}, 'span = "1h"', "span"),
        ({"cluster": "nonsense"}, "", "tcp://host:port"),
        ({"cluster": "tcp://x:1", "jobs": 2}, "", "--jobs"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    tmp_path: Path, run, settings, design: str, what: str
):
    task_trials.write(tmp_path, design=design)
    with pytest.raises(PlanError, match=what):
        run("refused", **settings)
    assert not (tmp_path / "refused").exists()


@pytest.mark.parametrize("settings", [{"jobs": 2}, {"cluster": "tcp://host:1"}])
def test_measured_trials_refuse_processes_and_clusters(tmp_path: Path, settings):
    file = tmp_path / "experiment.toml"
    file.write_text(
        '[experiment]\nname = "t"\n[trial]\ncommand = "true"\n[metrics.wall]\nresource = "wall"\n[design]\nseries = 1\nrounds = 2\n'
    )
    with pytest.raises(PlanError, match=f"--{next(iter(settings))} is for simulated trials"):
        study.run(file, tmp_path / "refused", **settings)
    assert not (tmp_path / "refused").exists()
