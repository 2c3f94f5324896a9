"""`trialwise run --only`: some trials now, the others later, all of one plan."""

from __future__ import annotations

import json

import pytest
from tests.system.conftest import Bench

from trialwise import study
from trialwise.design.plan import make_plan

FACTORS = 'scheme = ["cubic", "bbr", "reno"]\nrate = [1, 2.5]\n'


def test_the_others_stay_planned_and_come_later_in_the_same_order(bench: Bench):
    bench.write("echo {scheme} {rate}", factors=FACTORS, rounds=3)
    first = bench.run(only=["scheme=cubic,reno", "rate=2.5"])
    assert first.counts == {"finished": 6, "planned": 12}
    assert first.ending.reason == "stopped"
    assert "12 stay planned" in first.ending.text
    done = bench.rows("finished")
    assert {(row.factors["scheme"], row.factors["rate"]) for row in done} == {("cubic", 2.5), ("reno", 2.5)}
    notes = json.loads(bench.compute("analyze", bench.directory, "--json").stdout)["notes"]
    (note,) = [text for text in notes if text.startswith("not run yet: ")]
    missing = {f"scheme={scheme} rate={rate}" for scheme in ("cubic", "reno") for rate in (1,)}
    missing |= {f"scheme=bbr rate={rate}" for rate in (1, 2.5)}
    assert set(note.removeprefix("not run yet: ").split(", ")) == {f"{name} (3 trials)" for name in missing}
    plan = [(row.number, row.treatment, row.seed, row.round, row.position) for row in bench.rows()]

    assert bench.run(only=["scheme=bbr"]).counts == {"finished": 12, "planned": 6}
    rest = bench.run()
    assert (rest.counts, rest.ending.reason) == ({"finished": 18}, "complete")
    assert [(row.number, row.treatment, row.seed, row.round, row.position) for row in bench.rows()] == plan
    sessions = {row.session: [] for row in bench.rows()}
    for row in bench.rows():
        sessions[row.session].append(row)
    for rows in sessions.values():
        claimed = [row.claimed for row in rows]
        assert claimed == sorted(claimed), "each session goes by the order of the plan"


def test_an_unknown_level_is_refused_before_anything_is_made(bench: Bench):
    bench.write("echo {scheme} {rate}", factors=FACTORS)
    refused = bench.command_line("run", bench.file, "--directory", bench.directory, "--only", "scheme=bbrr")
    assert refused.returncode == 2
    assert "did you mean 'bbr'" in refused.stderr
    assert "known: bbr, cubic, reno" in refused.stderr
    assert not bench.directory.exists()


def test_progress_counts_what_was_asked_for(bench: Bench):
    bench.write("echo {scheme} {rate}", factors=FACTORS, rounds=1)
    ran = bench.command_line("run", bench.file, "--directory", bench.directory, "--only", "scheme=bbr")
    assert ran.returncode == 0
    assert "[2/2]" in ran.stderr
    again = bench.command_line("run", bench.directory, "--only", "scheme=bbr")
    assert again.returncode == 0
    assert "4 stay planned" in again.stderr


def test_what_is_not_asked_for_need_not_be_here(bench: Bench):
    """A program that is missing hinders only the trials that need it."""
    bench.write("{program}", factors='program = ["true", "no-such-program"]\n', rounds=1)
    assert bench.run(only=["program=true"]).counts == {"finished": 1, "planned": 1}


@pytest.mark.parametrize("order", ["random", "fixed+random", "balanced"])
def test_what_runs_is_the_order_of_the_plan_also_in_two_parts(bench: Bench, order: str):
    bench.write(
        "sh -c 'echo {x} >> ran'", factors='x = ["a", "b", "c"]', rounds=6, rest=f'warmup_trials = 1\norder = "{order}"'
    )  # fmt: skip
    planned = make_plan(study.load(bench.file)).trials
    bench.run(only=["x=a,c"])
    first = (bench.folder / "ran").read_text().split()
    assert first == [trial.factors["x"] for trial in planned if trial.factors["x"] != "b"]
    bench.run()
    assert (bench.folder / "ran").read_text().split() == [*first, *["b"] * 7]
    rows = bench.rows("finished")
    assert [(row.treatment, row.position, row.order) for row in rows] == [
        (trial.treatment.name, trial.position, trial.order) for trial in planned
    ]
