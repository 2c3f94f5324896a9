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
NETWORK = """5 1 4
4
""" + "".join(f"{host} 4 RATE 1us 0\n" for host in range(4))
NET = """
[experiment]
name = "bench"
[factors]
scheme = ["hpcc"]
[trial]
kind = "simulation"
scheme = "{scheme}"
topology = "a.txt"
workload = { sizes = "fixed:100kB", load = "30%", duration = "100us" }
[metrics.throughput]
quantity = "throughput"
measure = "mean"
[design]
series = 1
rounds = 1
"""


def meta(bench: Bench) -> dict[str, str]:
    """The facts in the ledger."""
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        return dict(ledger.meta())
    finally:
        ledger.close()


def throughput(bench: Bench) -> dict[str, float]:
    """The mean throughput of each treatment that counts."""
    (metric,) = study.analyse(bench.directory).metrics
    return {trial.treatment: trial.value or 0.0 for trial in metric.trials}


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
    ("old", "new"),
    [
        ('runtime = "2s"', 'runtime = "1s"'),
        ('path = { rate = "12Mbit/s"', 'path = { rate = "6Mbit/s"'),
        ("[design]", '[design]\norder = "fixed"'),
    ],
)
def test_trials_that_become_others_are_laid_out_anew_and_the_rest_is_set_apart(
    bench: Bench, old: str, new: str
):
    text = PATH.replace('packets = "drop"\n', "")
    bench.file.write_text(text)
    assert bench.run().counts == {"finished": 1}
    first = bench.rows()[0]
    bench.file.write_text(text.replace(old, new))
    with pytest.raises(PlanError, match="began with another plan"):
        bench.run(extend=True)
    assert bench.run(amend=True).counts == {"finished": 2}
    rows = bench.rows()
    assert [(row.series, row.epoch) for row in rows] == [(1, 1), (2, 2)]
    assert rows[0] == first
    found = study.analyse(bench.directory)
    assert (found.counts, found.series) == ({"finished": 1}, ("2",))
    assert any("1 finished trial of series 1 ran as the file was before" in note for note in found.notes)
    assert found.path is not None
    assert (found.path.runtime, found.path.recorded) == (1.0 if "1s" in new else 2.0, 1)
    assert meta(bench)["experiment until series 1"] == text
    assert bench.compute("status", bench.directory, "--check").returncode == 0


def test_a_network_and_schemes_that_become_others_are_frozen_beside_the_first(bench: Bench):
    for name, rate in (("a.txt", 10), ("b.txt", 40)):
        (bench.folder / name).write_text(NETWORK.replace("RATE", f"{rate}Gbps"))
    bench.file.write_text(NET)
    bench.run()
    slow = throughput(bench)
    bench.file.write_text(NET.replace("a.txt", "b.txt").replace('["hpcc"]', '["hpcc", "dcqcn"]'))
    assert bench.run(amend=True).counts == {"finished": 3}
    assert set(throughput(bench)) == {"scheme=hpcc", "scheme=dcqcn"}
    assert throughput(bench)["scheme=hpcc"] > 2 * slow["scheme=hpcc"]
    assert (bench.directory / "a.txt").read_text() != (bench.directory / "b.txt").read_text()
    (bench.folder / "b.txt").write_text(NETWORK.replace("RATE", "20Gbps"))
    bench.file.write_text(bench.file.read_text().replace("100us", "200us"))
    with pytest.raises(PlanError, match=r"b\.txt: is another file than the one of this name") as caught:
        bench.run(amend=True)
    assert caught.value.hint == "give it another name, so that both are kept"


def test_a_metric_of_a_simulation_may_come_and_counts_those_that_lack_it(bench: Bench):
    (bench.folder / "a.txt").write_text(NETWORK.replace("RATE", "10Gbps"))
    bench.file.write_text(NET)
    bench.run()
    text = NET.replace("[design]", '[metrics.fct]\nquantity = "fct"\n[design]')
    bench.file.write_text(text.replace("rounds = 1", "rounds = 2"))
    with pytest.raises(PlanError, match="began with another plan"):
        bench.run(extend=True)
    assert bench.run(extend=True, reread=True).counts == {"finished": 2}
    found = study.analyse(bench.directory)
    assert [len(metric.trials) for metric in found.metrics] == [2, 1]
    assert any("0 of 1 finished trial" in note and "fct" in note for note in found.notes)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('name = "bench"', 'name = "bench"\nseed = 5', "experiment.seed: the order of the rounds"),
        ('engine = "simulated"', 'engine = "emulated"', "trial.engine: computed, emulated and real trials"),
        ("[trial]", "[factors]\nscheme = ['udp-cubic']\n[trial]", "factors: finished trials have no level"),
        (
            "[design]\nseries = 1\nrounds = 1",
            "stop = { precision = '5%', of = 'mean' }\n[design]\norder = 'fixed'\nrounds = 60",
            "a rule has looked at these trials",
        ),
    ],
)
def test_another_experiment_is_refused_with_the_reason_and_what_to_do(
    bench: Bench, old: str, new: str, why: str
):
    bench.file.write_text(PATH)
    bench.run()
    text = PATH.replace(old, new)
    bench.file.write_text(
        text.replace('scheme = "udp-cubic"', 'scheme = "{scheme}"') if "factors" in new else text
    )
    with pytest.raises(PlanError, match="began with another plan") as caught:
        bench.run(amend=True)
    assert why in str(caught.value.hint)
    assert "start a new experiment with --directory" in str(caught.value.hint)


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
