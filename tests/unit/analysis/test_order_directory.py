"""The order of trials in an experiment directory: workers, boots, sessions, failed, repeated and lost trials."""

import dataclasses

import numpy as np
import pytest

from trialwise import study
from trialwise.analysis.order.analysing import OrderOptions, analyse_order
from trialwise.design.plan import make_plan
from trialwise.errors import AnalysisError
from trialwise.experiment.reading import parse_experiment
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Session
from trialwise.study import planned_row
from trialwise.wording import order as wording

TEXT = """
[experiment]
name = "made"
seed = 7
[factors]
program = ["a", "b", "c", "d"]
[trial]
kind = "command"
command = "echo {{program}} 1"
[metrics.speed]
stdout = "([0-9.]+)"
{more}
[design]
order = "{order}"
series = 1
rounds = {rounds}
"""


class Made:
    """A directory that is filled trial by trial through the store, as the runner does."""

    def __init__(self, folder, *, order="random", rounds=20, more="", workers=("w0",), seed=1):
        text = TEXT.format(order=order, rounds=rounds, more=more)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "made.toml").write_text(text)
        self.experiment = parse_experiment(text, folder / "made.toml")
        self.directory = ExperimentDirectory(folder / "made.results")
        self.directory.make()
        self.directory.write_durably("experiment.toml", text.encode())
        plan = make_plan(self.experiment)
        rows = [planned_row(trial) for trial in plan.trials]
        self.lanes = {
            worker: [dataclasses.replace(row, number=row.number + 1000 * place) for row in rows]
            for place, worker in enumerate(workers)
        }
        meta = {"name": "made", "identity": "x", "plan": plan.digest, "folder": str(folder), "version": "0"}
        self.ledger = Ledger.create(
            self.directory.ledger_file, meta, [row for lane in self.lanes.values() for row in lane]
        )
        self.now, self.sessions = 1_795_000_000.0, 0
        self.random = np.random.default_rng(seed)

    def session(self, worker, boot="boot-1"):
        self.sessions += 1
        self.directory.write_durably("environments/001.json", b"{}")
        session = Session(self.sessions, self.now, None, None, 1, worker, boot, "0", "environments/001.json")
        self.ledger.start_session(session)
        return session

    def run(self, row, session, value=None, status="finished"):
        self.now += 10
        self.ledger.claim(row, session, self.now)
        level = 100 + self.random.normal() if value is None else value
        source = self.experiment.metrics[0].source.key
        self.ledger.finish(
            row,
            status,
            started=self.now,
            finished=self.now + 1,
            exit_code=0 if status == "finished" else 1,
            reason=None if status == "finished" else "exit code 1",
            values=[(source, level, 1, None)] if status == "finished" else [],
        )

    def trials(self):
        return study.order_trials(self.directory.path)


def followers(trials):
    """Round and position of the trials that follow the one before."""
    kept = trials.table.filter("follows")
    return set(zip(kept["round"].to_list(), kept["position"].to_list(), strict=True))


def test_a_whole_lane_is_followed_within_rounds(tmp_path):
    made = Made(tmp_path, rounds=3)
    session = made.session("w0")
    for row in made.lanes["w0"]:
        made.run(row, session)
    found = made.trials()
    assert followers(found) == {(f"1.{turn}", float(place)) for turn in (1, 2, 3) for place in (2, 3, 4)}
    assert (found.n_problems, found.notes) == (0, ())
    assert found.table["worker"].unique().to_list() == [""]


def test_a_failed_trial_breaks_the_chain_and_is_named(tmp_path):
    made = Made(tmp_path, rounds=2)
    session = made.session("w0")
    for row in made.lanes["w0"]:
        made.run(row, session, status="failed" if (row.round, row.position) == (1, 2) else "finished")
    found = made.trials()
    assert (("1.1", 2.0) in followers(found), ("1.1", 3.0) in followers(found)) == (True, False)
    assert found.table["value"].null_count() == 1
    (problem,) = found.problems
    assert problem.kind == "failed"
    assert "random round 1 on w0, position 2) is failed: exit code 1; it has no value" in problem.text


def test_a_trial_that_is_repeated_later_has_no_known_predecessor(tmp_path):
    made = Made(tmp_path, rounds=2)
    session = made.session("w0")
    for row in made.lanes["w0"]:
        made.run(row, session, status="failed" if (row.round, row.position) == (1, 3) else "finished")
    assert made.ledger.plan_again() == 1
    again = made.session("w0")
    (row,) = made.ledger.trials("planned")
    made.run(row, again)
    found = made.trials()
    assert found.n_problems == 0
    assert found.table["value"].null_count() == 0
    assert found.table.height == 8
    # Neither it nor the one after its first attempt.
    assert not {("1.1", 3.0), ("1.1", 4.0)} & followers(found)


def test_a_boot_or_a_session_in_the_middle_of_a_round_breaks_the_chain_alone(tmp_path):
    made = Made(tmp_path, rounds=3)
    session = made.session("w0")
    for row in made.lanes["w0"]:
        if (row.round, row.position) == (2, 3):
            session = made.session("w0", "boot-2")
        made.run(row, session)
    found = made.trials()
    assert ("1.2", 3.0) not in followers(found)
    assert len(followers(found)) == 8
    assert found.n_problems == 0
    assert analyse_order(found).rounds_random == 3


def test_rounds_of_workers_that_run_at_once_are_kept_apart(tmp_path):
    made = Made(tmp_path, rounds=3, workers=("w0", "w1"))
    sessions = {worker: made.session(worker) for worker in made.lanes}
    for rows in zip(*made.lanes.values(), strict=True):
        for row, worker in zip(rows, made.lanes, strict=True):
            made.run(row, sessions[worker])
    found = made.trials()
    assert found.table.filter("follows").height == 18
    assert found.table.filter(follows=True, worker="w1").height == 9


def test_a_reset_before_every_trial_leaves_nothing_to_follow(tmp_path):
    made = Made(tmp_path, rounds=6, more='[reset]\ncommand = "true"\nevery = "trial"')
    session = made.session("w0")
    for row in made.lanes["w0"]:
        made.run(row, session)
    found = analyse_order(made.trials())
    assert "reset before every trial" in found.notes[0]
    assert found.carry_over[0].tested == 0
    assert found.carry_over[0].position.n == 6


def test_what_has_not_run_is_a_note_and_no_problem(tmp_path):
    made = Made(tmp_path, rounds=4)
    with pytest.raises(AnalysisError, match="no trial has a value"):
        made.trials()
    session = made.session("w0")
    for row in made.lanes["w0"][:10]:
        made.run(row, session)
    found = made.trials()
    assert found.notes == ("6 trials of the plan have not run yet",)
    assert found.n_problems == 0


def carried(made, shift):
    """Run every lane; d is slower right after a, and what runs on w2 is slower."""
    for worker, lane in made.lanes.items():
        session, before = made.session(worker), None
        for row in lane:
            value = 100 + made.random.normal() - 3 * (worker == "w2")
            if before is not None and row.round == before.round:
                value += shift * (row.treatment.endswith("d") and before.treatment.endswith("a"))
            made.run(row, session, value)
            before = row


def test_one_worker_against_all(tmp_path):
    made = Made(tmp_path, order="fixed+random", rounds=60, workers=("w0", "w1", "w2"))
    carried(made, 5.0)
    found = analyse_order(made.trials())
    assert found.workers == ("w0", "w1", "w2")
    assert {(one.worker, one.what) for one in found.worker_differences} == {("w2", "level")}
    assert {one.treatment for one in found.worker_differences} == {f"program={name}" for name in "abcd"}
    (pair,) = found.carry_over[0].pairs
    assert (pair.treatment, pair.predecessor) == ("program=d", "program=a")
    assert found.verdict == "order matters"


def test_an_order_effect_of_one_worker_is_a_property_of_the_machine(tmp_path):
    made = Made(tmp_path, order="fixed+random", rounds=80, workers=("w0", "w1", "w2"))
    for worker, lane in made.lanes.items():
        session = made.session(worker)
        for row in lane:
            moved = 8 * (worker == "w1" and row.order == "fixed" and row.treatment.endswith("b"))
            made.run(row, session, 100 + made.random.normal() + moved)
    found = analyse_order(made.trials())
    differences = {(one.worker, one.what, one.treatment) for one in found.worker_differences}
    assert ("w1", "order", "program=b") in differences
    assert all(worker == "w1" for worker, _, _ in differences)
    changed = {one.treatment for one in found.treatments if one.change in ("location", "distribution")}
    assert changed == {"program=b"}


@pytest.mark.parametrize(("line", "winner"), [('better = "lower"', "program=c"), ("", "program=b")])
def test_the_experiment_says_which_direction_is_better(tmp_path, line, winner):
    made = Made(tmp_path, order="fixed+random", rounds=40, more=line)
    session = made.session("w0")
    for row in made.lanes["w0"]:
        made.run(row, session, 100 + made.random.normal() + 9 * row.treatment.endswith("b"))
    trials = made.trials()
    (pair,) = (
        one
        for one in analyse_order(trials).conclusions
        if (one.first, one.second) == ("program=b", "program=c")
    )
    assert pair.fixed_winner == winner
    assert pair.better == ("lower" if line else "higher")
    overridden = analyse_order(trials, OrderOptions(better="higher")).conclusions
    assert {one.better for one in overridden} == {"higher"}


def test_a_fixed_order_alone_names_no_culprit(tmp_path):
    made = Made(tmp_path, order="fixed", rounds=30)
    carried(made, 5.0)
    found = analyse_order(made.trials())
    assert (found.verdict, found.carry_over, found.treatments) == ("undecided", (), ())
    assert "cannot be told apart" in found.notes[0]
    assert "random or balanced order" in wording.sentence(found)
    assert tuple(wording.next_steps(found)) == (
        'Run rounds in random or balanced order as well (order = "fixed+random"): only these tell what the order does.',
    )
