"""Real runs that stop by themselves: known, killed and resumed, interrupted, out of time, out of trials."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest
from jsonschema import validate
from tests.system.conftest import TRIALWISE, Bench

from trialwise import study
from trialwise.cli.schema import json_schema
from trialwise.errors import PlanError
from trialwise.experiment.model import Level


def program(folder, sleep: float = 0.0):
    """A program whose numbers follow from the seed of its trial."""
    (folder / "program.sh").write_text(
        "#!/bin/sh\n"
        f'[ "{sleep:g}" = 0 ] || sleep {sleep:g}\n'
        'exec awk -v s="$1" -v x="$2" \'BEGIN { srand(s % 1000003); rand(); print "m", 10 * x + 2 * rand() }\'\n'
    )
    (folder / "program.sh").chmod(0o755)


def write(
    bench: Bench, metric: str = "", design: str = "", *, levels: list[Level] | None = None, sleep: float = 0.0
) -> Bench:
    program(bench.folder, sleep)
    bench.file.write_text(
        f'[experiment]\nname = "bench"\n[factors]\nx = {json.dumps(levels or [1])}\n'
        '[trial]\ncommand = ["./program.sh", "{seed}", "{x}"]\n'
        f'[metrics.m]\nstdout = "m ([0-9.]+)"\nunit = "ms"\n{metric}\n[design]\n{design}\n'
    )
    return bench


NARROW = 'stop = { precision = "3%", of = "mean" }'


def test_a_run_stops_by_itself_and_tells_what_is_known(bench: Bench):
    write(bench, NARROW, "pilot = 10")
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    assert done.returncode == 0, done.stderr
    assert "everything asked for is known (1 claim)" in done.stderr
    assert "trials in all are expected" in done.stderr
    found = bench.status()
    claim = found["stopping"]["claims"][0]
    assert claim["state"] == "decided"
    assert claim["width"] <= claim["target"]
    assert claim["n"][0] + 10 == len(bench.rows("finished"))
    assert found["activity"] == "stopped by itself"
    told = bench.compute("status", bench.directory).stdout.splitlines()
    analysed = bench.compute("analyze", bench.directory).stdout.splitlines()
    claims = [line for line in told[told.index("m: mean ±3 %") :] if "ledger head" not in line]
    assert len(claims) >= 4
    assert set(claims) <= set(analysed)
    assert not any("Nothing is claimed" in line for line in analysed)
    again = bench.command_line("run", bench.file, "-d", bench.directory, "--json")
    assert again.returncode == 0
    validate(json.loads(again.stdout), json_schema("run"))
    assert json.loads(again.stdout)["stopping"] == found["stopping"]


def test_a_run_that_is_killed_goes_on_and_stops_at_the_same_round(bench: Bench, tmp_path):
    write(bench, NARROW, "pilot = 10", levels=[1, 2])
    whole = bench.run()
    assert whole.ending.reason == "stopped"
    rounds = len(bench.rows("finished"))
    (tmp_path / "killed").mkdir()
    killed = write(Bench(tmp_path / "killed"), NARROW, "pilot = 10", levels=[1, 2], sleep=0.05)
    for part in (rounds // 4, rounds // 2):
        process = subprocess.Popen(
            [*TRIALWISE, "run", killed.file, "-d", killed.directory, "-q"], cwd=killed.folder
        )
        wait_for(killed, part)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert killed.rows("finished"), "killed half way"
    program(killed.folder)
    resumed = killed.run()
    assert resumed.ending == whole.ending
    assert len(killed.rows("finished")) == rounds
    assert without_time(resumed) == without_time(whole)


def wait_for(bench: Bench, trials: int) -> None:
    deadline = time.monotonic() + 60
    while not (bench.directory / "ledger.sqlite").exists() or len(bench.rows("finished")) < trials:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def without_time(result: study.RunResult) -> list[tuple]:
    assert result.stopping
    return [(claim.subject, claim.low, claim.high, claim.n, claim.state) for claim in result.stopping.claims]


def test_ctrl_c_leaves_the_claims_open(bench: Bench):
    write(bench, NARROW, "pilot = 100", sleep=0.1)
    process = subprocess.Popen(
        [*TRIALWISE, "run", bench.file, "-d", bench.directory],
        cwd=bench.folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(bench, 3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    stopping = study.state(bench.directory).stopping
    assert stopping
    assert (stopping.phase, stopping.reason, stopping.claims[0].state) == ("pilot", None, "open")
    assert "the pilot has 100" in bench.compute("status", bench.directory).stdout


def test_a_budget_ends_the_run_undecided(bench: Bench):
    write(bench, 'stop = { precision = "1%" }', 'pilot = 10\nbudget = "1500ms"', sleep=0.05)
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    assert done.returncode == 3, done.stderr
    assert "the budget of 1.5s is used up: 0 of 1 claim known" in done.stderr
    assert "to know more: " in done.stderr


def test_max_trials_end_the_run_undecided(bench: Bench):
    write(bench, 'stop = { precision = "2%" }', "pilot = 10\nmax_trials = 25")
    result = bench.run()
    assert result.counts == {"finished": 25}
    assert result.stopping
    assert (result.stopping.decided, result.stopping.claims[0].n) == (False, (15,))
    assert bench.command_line("run", bench.file, "-d", bench.directory, "-q").returncode == 3


def test_a_precision_out_of_reach_is_told_before_and_ends_the_run_after_the_pilot(bench: Bench):
    write(bench, 'stop = { precision = "0.001%", of = "mean" }', "pilot = 10\nmax_trials = 100")
    told = "±0.001 % at 95 %: that takes about"
    assert told in bench.compute("plan", bench.file).stdout
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    assert done.returncode == 3, done.stderr
    assert told in done.stderr
    assert "10 trials are the pilot" in done.stderr
    assert "stopped: what is asked for takes over 10 times max_trials, at best" in done.stderr
    assert len(bench.rows("finished")) == 10
    write(bench, NARROW, "pilot = 10\nmax_trials = 100")
    assert bench.command_line("run", bench.file, "-d", bench.directory, "-q").returncode == 0


@pytest.mark.parametrize("looks", ["two-stage", "anytime"])
def test_a_verdict_against_the_base(bench: Bench, looks):
    write(
        bench,
        'margin = "10%"',
        f'stop = "verdict"\nbase = "x=2"\nlooks = "{looks}"\npilot = 10',
        levels=[1, 2, 3],
    )
    result = bench.run()
    assert result.ending.reason == "stopped"
    assert result.stopping
    found = {claim.subject: claim.verdict for claim in result.stopping.claims}
    assert found == {"x=1 against x=2": "different", "x=3 against x=2": "different"}


def test_ccevals_rule_warns_before_anything_runs(bench: Bench):
    write(bench, NARROW, 'looks = "cceval"')
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith('! looks = "cceval"')
    assert "the rule looks after every trial" in bench.compute("status", bench.directory).stdout


def test_what_ends_the_run_may_be_changed_on_record(bench: Bench):
    write(bench, 'stop = { precision = "0.1%" }', 'looks = "anytime"\nbudget = "1s"', sleep=0.02)
    assert bench.run().stopping.decided is False
    write(bench, 'stop = { precision = "30%" }', 'looks = "anytime"\nbudget = "5min"')
    assert bench.run().stopping.decided is True
    assert any(event.kind == "rule" for event in study.state(bench.directory).events)


def test_what_cannot_be_waited_for_is_refused(bench: Bench):
    write(bench, NARROW, levels=[1, 2])
    with pytest.raises(PlanError, match="leaves treatments out"):
        bench.run(only=["x=1"])
    with pytest.raises(PlanError, match="runs on one worker"):
        bench.run(workers=["local", "ssh://nowhere.invalid"])


def test_a_run_that_nothing_stops_says_of_which_treatment_one_trial_makes_most_of_the_variance(bench: Bench):
    """`analyze` alone said so; a run that a rule ends says it with its claims."""
    bench.file.write_text(
        '[experiment]\nname = "bench"\n[factors]\nx = [1, 2]\n'
        """[trial]\ncommand = ["sh", "-c", 'echo m $(( {x} * ({round} == 7 ? 90 : 10 + {round} % 3) ))']\n"""
        '[metrics.m]\nstdout = "m ([0-9.]+)"\nunit = "ms"\n[design]\nrounds = 20\n'
    )
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("! m of")]
    assert [line.partition(":")[0] for line in said] == ["! m of x=1", "! m of x=2"]
    # Of one among n that all else are alike: (n - 1)/n.
    assert all("the largest trial makes 95 % of the variance" in line for line in said)
