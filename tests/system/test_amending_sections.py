"""Sections and kinds of trials beside programs that are amended: what follows from it, by the ledger and by what is read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.system.conftest import Bench
from tests.system.test_found_results import encode, go_program, values, written

from trialwise import study
from trialwise.design.plan import plan_digest
from trialwise.errors import PlanError
from trialwise.experiment.reading import read_experiment
from trialwise.store.ledger import Ledger

SENDS = """
[experiment]
name = "bench"
[trial]
command = "true"
[metrics.m]
resource = "wall"
[measurement]
patience = "4s"
[design]
series = 1
rounds = 1
"""
PATH = """
[experiment]
name = "bench"
[trial]
kind = "path"
engine = "simulated"
scheme = "udp-cubic"
runtime = "2s"
packets = "drop"
path = { rate = "12Mbit/s", delay = "28ms" }
[metrics.throughput]
measure = "mean"
[design]
series = 1
rounds = 1
"""


def amended(bench: Bench) -> tuple[list[str], list[str]]:
    """The changes of what finished trials say, and those of how trials run."""
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        events = list(ledger.events())
        return tuple(
            [each.text for each in events if each.kind == kind] for kind in ("amended", "amended trials")
        )
    finally:
        ledger.close()


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        (SENDS, '"4s"', '"3s"', "measurement.patience: 4.0 → 3.0"),
        (SENDS, '"4s"', '"4s"\nlosses = "allow"', 'measurement.losses: none → "allow"'),
        (PATH, '"drop"', '"keep"', 'trial.packets: "drop" → none'),
    ],
)
def test_trials_run_otherwise_in_an_epoch_of_their_own(
    bench: Bench, text: str, old: str, new: str, said: str
):
    bench.file.write_text(text)
    assert bench.run().counts == {"finished": 1}
    bench.file.write_text(text.replace(old, new).replace("rounds = 1", "rounds = 2"))
    with pytest.raises(PlanError, match="began with another plan"):
        bench.run(extend=True)
    assert bench.run(extend=True, amend=True).counts == {"finished": 2}
    assert amended(bench)[0] == []
    assert said in amended(bench)[1][0]
    assert [row.epoch for row in bench.rows()] == [1, 2]


@pytest.mark.parametrize(
    "key", ['runtime = "3s"', 'scheme = "udp-newreno"', 'path = { rate = "6Mbit/s", delay = "28ms" }']
)
def test_what_figures_of_finished_trials_are_computed_from_stays(bench: Bench, key: str):
    bench.file.write_text(PATH)
    bench.run()
    name = key.partition(" ")[0]
    lines = [key if line.startswith(f"{name} =") else line for line in PATH.splitlines()]
    bench.file.write_text("\n".join(lines))
    with pytest.raises(PlanError, match="began with another plan"):
        bench.run(amend=True)


def test_claims_about_results_change_no_trial_and_what_is_kept_begins_an_epoch(bench: Bench):
    command = go_program(bench, encode((10, 1), (20, 2)), encode((11, 1), (21, 2)), encode((12, 1), (22, 2)))
    written(bench, command, 'format = "go-bench"\nkeep = ["*:ns/op"]', rounds="series = 1\nrounds = 2")
    assert bench.run().counts == {"finished": 2}
    before = values(bench)
    claims = '[results.metrics."*"]\nkpi = { percentile = 50, confidence = 75 }'
    written(
        bench, command, f'format = "go-bench"\nkeep = ["*:ns/op"]\n{claims}', rounds="series = 1\nrounds = 2"
    )
    bench.run()
    ((event,), trials) = amended(bench)
    assert ("results.metrics" in event, "chosen when 2 trials had finished" in event, trials) == (
        True,
        True,
        [],
    )
    assert values(bench) == before
    written(
        bench, command, f'format = "go-bench"\nkeep = ["*:MB/s"]\n{claims}', rounds="series = 1\nrounds = 3"
    )
    assert bench.run(extend=True, amend=True).counts == {"finished": 3}
    assert "results.keep" in amended(bench)[1][0]
    after = values(bench)
    assert {name: found for name, found in after.items() if name in before} == before
    assert sum(len(found) for name, found in after.items() if name not in before) == 2
    assert study.state(bench.directory).counts == {"finished": 3}


def test_another_file_of_streams_is_kept_beside_the_first(bench: Bench):
    (bench.folder / "a.toml").write_text('[[collect]]\nurl = "{collector}"\n')
    (bench.folder / "b.toml").write_text('[[collect]]\nurl = "{collector}"\n# b\n')
    text = SENDS.replace('patience = "4s"', 'config = "a.toml"')
    bench.file.write_text(text)
    bench.run()
    bench.file.write_text(text.replace("a.toml", "b.toml").replace("rounds = 1", "rounds = 2"))
    assert bench.run(extend=True, amend=True).counts == {"finished": 2}
    assert (bench.directory / "a.toml").read_text() != (bench.directory / "b.toml").read_text()
    assert bench.compute("status", bench.directory, "--check").returncode == 0


@pytest.mark.parametrize("is_known", [True, False])
def test_a_directory_that_was_amended_to_a_unit_its_numbers_do_not_have_goes_on(bench: Bench, is_known: bool):
    """An earlier build took `unit = "ms"` of what is measured in seconds, and recorded the plan of that."""
    bench.write("true")
    bench.run(rounds=1)
    text = bench.file.read_text()
    amended = text.replace('resource = "wall"', 'resource = "wall"\nunit = "ms"')
    experiment = read_experiment(bench.file)
    metrics = tuple(replace(metric, unit="ms") for metric in experiment.metrics)
    plan = plan_digest(replace(experiment, metrics=metrics)) if is_known else "another"
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=False)
    ledger.set_meta("experiment", amended)
    ledger.set_meta("plan", plan)
    ledger.close()
    (bench.directory / "experiment.toml").write_text(amended)
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    if is_known:
        assert (done.returncode, "amended to the unit 'ms'" in done.stderr) == (0, True)
        assert len(bench.rows("finished")) == 2
    else:
        assert (done.returncode, "the plan on record is not that of the experiment file" in done.stderr) == (
            2,
            True,
        )
