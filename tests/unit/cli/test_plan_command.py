import json
import re
import sqlite3
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from in_process import trialwise
from simulation_directory import simulation_text
from trialwise.cli.plan import plan
from trialwise.cli.schema import json_schema
from trialwise.errors import PlanError, TrialError

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to"
TEXT = """
[experiment]
name = "sleep"
seed = 3
[factors]
time = [0.01, 0.02]
size = { draw = [1, 2, 3] }
[trial]
command = "sh -c 'sleep {time}; echo {size} > out'"
prepare = "mkdir -p work"
%s
[metrics.wall]
resource = "wall"
kpi = { percentile = 90 }
variability = {}
[design]
%s
"""


@pytest.fixture
def file(tmp_path):
    def write(trial="", design="", text=TEXT):
        path = tmp_path / "experiment.toml"
        path.write_text(text % (trial, design))
        return path

    return write


def printed(capsys, *arguments, **options):
    assert plan(*arguments, **options) == 0
    return capsys.readouterr().out


def test_shows_what_is_needed_and_the_order(capsys, file):
    out = printed(capsys, file(trial='runtime = "10s"', design='span = "1h"'))
    assert "sleep: 3 series × 29 rounds × 2 treatments = 174 trials\n" in out
    assert re.search(r"wall +95 % upper bound on p90 +29 rounds +decides\n", out)
    assert re.search(r"wall +variability score \(p50, 75 %\) +3 series +decides\n", out)
    assert "Order (seed 3)" in out
    assert re.search(r"\n  time=0\.01 +10s\n", out)
    assert "size: drawn for each round from 3 values of list\n" in out
    assert "and 170 more" in out
    assert "the experiment takes 3h\n" in out
    assert "Warnings" not in out


def test_order_shows_every_trial_of_the_json(capsys, file):
    path = file(design="rounds = 3\nseries = 2\nwarmup_trials = 1")
    document = json.loads(printed(capsys, path, json=True))
    out = printed(capsys, path, order=True)
    assert len(document["trials"]) == document["trial_count"] == 2 * (1 + 3) * 2
    for trial in document["trials"]:
        assert re.search(
            rf"^ +{trial['number']} .* {trial['seed']}  {re.escape(trial['treatment'])} \(size=",
            out,
            re.MULTILINE,
        )


def test_json_follows_its_schema(capsys, file):
    schema = Draft202012Validator(json_schema("plan"))
    path = file(trial='runtime = "10s"', design='span = "1h"')
    for options in ({}, {"budget": "1h"}, {"budget": "10h"}):
        document = json.loads(printed(capsys, path, json=True, **options))
        schema.validate(document)
        assert document["format"] == "trialwise.plan/1"
    assert not schema.is_valid(document | {"rounds": "29"})
    assert not schema.is_valid({key: value for key, value in document.items() if key != "trials"})


def test_budget_that_does_not_fit_is_an_answer(capsys, file):
    out = printed(capsys, file(trial='runtime = "10s"'), budget="15min")
    assert "Budget of 15min\n  does not fit: 29min are needed\n  3 series of 15 rounds fit\n" in out
    assert "does not fit; at most 79.4 % confidence or p81.8 at 95 %" in out
    assert re.search(
        r"3 series × 15 rounds +15min +have fewer rounds, without the 95 % upper bound on p90 of wall", out
    )


def test_budget_that_fits(capsys, file):
    out = printed(capsys, file(trial='runtime = "10s"'), budget="1h")
    assert "fits: 29min are needed\n  60 rounds in each of 3 series would fit\n" in out


@pytest.mark.parametrize("text", ["", "two hours", "2", "-1h", "0s", "2 hours"])
def test_wrong_budget(file, text):
    with pytest.raises(PlanError, match="--budget"):
        plan(file(trial='runtime = "10s"'), budget=text)


def test_budget_without_times(file):
    with pytest.raises(PlanError, match="not known") as caught:
        plan(file(), budget="1h")
    assert "--pilot" in str(caught.value)


def test_pilot_runs_each_treatment_once_and_leaves_nothing(capsys, file, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    folder = tmp_path / "folder"
    folder.mkdir()
    path = file(trial='directory = "folder"', design='span = "24h"')
    document = json.loads(printed(capsys, path, pilot=True, json=True))
    seconds = {each["name"]: each["seconds"] for each in document["treatments"]}
    assert 0.01 <= seconds["time=0.01"] < 5
    assert 0.02 <= seconds["time=0.02"] < 5
    assert document["time"]["origin"] == "pilot"
    assert document["time"]["round_seconds"] == pytest.approx(sum(seconds.values()))
    assert (folder / "out").exists()
    assert list(temporary.iterdir()) == []
    assert {entry.name for entry in tmp_path.iterdir()} == {"temporary", "folder", "experiment.toml"}


def test_pilot_that_fails(file):
    text = TEXT.replace("sleep {time};", "exit 3; sleep {time};")
    with pytest.raises(TrialError, match="exit") as caught:
        plan(file(text=text), pilot=True)
    assert caught.value.exit_code == 4


def test_times_of_a_directory(capsys, file, tmp_path):
    from trialwise import study

    path = file(design="rounds = 2\nseries = 1")
    study.run(path, tmp_path / "results")
    with sqlite3.connect(tmp_path / "results/ledger.sqlite") as ledger:
        rows = ledger.execute("select treatment, claimed, finished from trial").fetchall()
    document = json.loads(printed(capsys, tmp_path / "results", json=True))
    for each in document["treatments"]:
        taken = sorted(finished - claimed for name, claimed, finished in rows if name == each["name"])
        assert each["seconds"] == pytest.approx(sum(taken) / 2)
    assert document["time"]["origin"] == "pilot"


def test_plan_of_too_many_trials_says_what_asks_for_them(capsys, file):
    out = printed(capsys, file(design="rounds = 1000000"))
    assert "3 series × 1000000 rounds" in out
    assert "6000000 trials are too many to lay out" in out


def test_absent_file():
    with pytest.raises(PlanError, match="there is no such file"):
        plan(Path("absent.toml"))


def test_shows_what_the_order_lets_be_concluded_and_what_runs_before_what(capsys, file):
    out = printed(capsys, file(design='order = "fixed+random"\nrounds = 2'))
    assert "  fixed+random: half of the rounds in the order of the file" in out
    assert re.search(r"trial +series +round +order +treatment +after\n", out)
    assert re.search(r"fixed +time=0\.02 \(size=\d\) +time=0\.01\n", out)
    out = printed(capsys, file(design='order = "balanced"\nrounds = 3'))
    assert "comes out even every 2 rounds; there are 3: give rounds = 4 or 2" in out


def test_a_pilot_resets_the_directory_of_the_experiment(capsys, file, tmp_path):
    (tmp_path / "clean").mkdir()
    (tmp_path / "clean/data").write_text("")
    text = TEXT + '[reset]\ndirectory = { path = "work", template = "clean" }\n'
    printed(capsys, file(design="rounds = 1", text=text), pilot=True)
    assert (tmp_path / "work/data").exists()


def test_each_worker_is_shown_with_its_order(capsys, file):
    path = file(
        trial='runtime = "10s"', design="rounds = 3\nseries = 1\n[workers]\nuse = ['ssh://a', 'ssh://b']"
    )
    document = json.loads(printed(capsys, path, json=True))
    Draft202012Validator(json_schema("plan")).validate(document)
    first, second = document["lanes"]
    assert first["trials"] == document["trials"]
    assert [trial["number"] for trial in second["trials"]] == list(range(7, 13))
    assert first["seed"] != second["seed"]
    out = printed(capsys, path)
    assert "each of 2 runs the whole plan in an order of its own: 12 trials\n" in out
    assert re.search(rf"ssh://b +7 to 12 +6 +{second['seed']}\n", out)
    assert f"Order on ssh://b (seed {second['seed']})\n" in out
    assert "the experiment takes 1min, all 2 workers running at once\n" in out
    assert "ssh://b" not in printed(capsys, path, workers=("local",))
    with pytest.raises(PlanError, match="is not a valid worker"):
        plan(path, workers=("remote",))


def test_workers_that_are_to_be_allocated_are_not_known_yet(capsys, file):
    path = file(design="rounds = 3\nseries = 1\n[workers]\nallocate = 'true'\nrelease = 'true'")
    assert "as many as workers.allocate will name" in printed(capsys, path)


def test_a_pilot_runs_here_whoever_the_workers_are(capsys, file):
    path = file(design="rounds = 3\nseries = 1\n[workers]\nuse = ['ssh://no-such-host.invalid']")
    assert json.loads(printed(capsys, path, pilot=True, json=True))["time"]["origin"] == "pilot"


_SIMULATED = simulation_text(
    """
[metrics.fct]
quantity = "fct"
measure = "mean"
estimand = "per_trial"
stop = { precision = "1%" }
[design]
max_trials = 40
""",
    workload='sizes = "websearch", load = "{load}", duration = "10ms"',
    topology="dumbbell:4x4,100Gbit/s,1us",
    factors='load = ["20%", "40%"]',
    scheme="dctcp",
)


def test_expected_flows_and_forecasts_of_a_simulation_are_in_the_json_and_in_the_text(capsys, tmp_path):
    path = tmp_path / "simulated.toml"
    path.write_text(_SIMULATED)
    document = json.loads(printed(capsys, path, pilot=True, json=True))
    flows = {each["treatment"]: each["expected"] for each in document["flows"]}
    assert flows["load=40%"] == pytest.approx(2 * flows["load=20%"])
    assert [each["subject"] for each in document["forecasts"]] == ["load=20%", "load=40%"]
    # Some twenty flows a trial scatter by more than their mean: 40 trials know neither to 1 %.
    assert all(each["beyond"] and not each["known"] for each in document["forecasts"])
    text = printed(capsys, path, pilot=True)
    assert f"about {flows['load=40%']:.0f} in a trial" in text
    assert text.count("max_trials is 40") == 2
    assert "  the experiment takes at most " in text
    assert text.count(" on one core") == 2


OVER_PATHS = """
[experiment]
name = "paths"
[factors]
scheme = ["udp-cubic", "udp-copa"]
[trial]
kind = "path"
engine = "simulated"
scheme = "{scheme}"
runtime = "30s"
path = { rate = "12Mbit/s", delay = "28ms", queue = "droptail:packets=50" }
[metrics.throughput]
[design]
series = 1
rounds = 3
"""


@pytest.mark.parametrize("text", [_SIMULATED, OVER_PATHS])
def test_how_long_simulated_trials_take_is_not_what_they_simulate(capsys, tmp_path, text):
    path = tmp_path / "simulated.toml"
    path.write_text(text)
    assert "Time\n  not known; run a pilot with --pilot\n" in printed(capsys, path)


def test_networks_that_hardly_anybody_means_are_said_before_they_run(tmp_path):
    path = tmp_path / "slow.toml"
    metrics = "[metrics.fct]\n[design]\nseries = 1\nrounds = 1\n"
    workload = 'sizes = "fixed:2kB", load = "30%", duration = "20ms"'
    path.write_text(simulation_text(metrics, workload=workload, topology="dumbbell:4x4,100Mbit/s,1us"))
    planned = trialwise("plan", path, cwd=tmp_path)
    assert planned.stdout.count("! on links of 100 Mbit/s marks begin at queues of 300 bytes") == 1
    assert planned.stdout.count("give a larger buffer") == 1
    found = json.loads(trialwise("plan", path, "--json", cwd=tmp_path).stdout)["flows"]
    assert [len(each["cautions"]) for each in found] == [2, 1], "HPCC sees no marks"
    program = Path(sys.executable).parent / "trialwise"
    ran = subprocess.run([program, "run", path], cwd=tmp_path, capture_output=True, text=True, check=True)
    said = [f"! {text}" for text in dict.fromkeys(text for each in found for text in each["cautions"])]
    assert [line for line in ran.stderr.splitlines() if line.startswith("!")] == said


def test_a_pilot_finds_the_modules_and_files_of_the_experiment(capsys, tmp_path, monkeypatch):
    (tmp_path / "newreno.py").write_text((HOW_TO / "newreno.py").read_text())
    (tmp_path / "sizes.cdf").write_text("1000 0\n2000 100\n")
    (elsewhere := tmp_path / "elsewhere").mkdir()
    path = tmp_path / "experiment.toml"
    path.write_text(
        '[experiment]\nname = "own"\n[factors]\nscheme = ["dctcp", "python:newreno:NewReno"]\n'
        'sizes = ["sizes.cdf", "./sizes.cdf"]\n[trial]\nkind = "simulation"\nscheme = "{scheme}"\n'
        'topology = "dumbbell:4x4,10Gbit/s,1us"\n'
        'workload = { sizes = "{sizes}", load = "60%", duration = "1ms" }\n[metrics.slowdown]\n'
        "[design]\nseries = 1\nrounds = 2\n"
    )
    monkeypatch.chdir(elsewhere)
    document = json.loads(printed(capsys, path, pilot=True, json=True))
    assert len(document["treatments"]) == 4


@pytest.mark.parametrize(
    ("module", "refusal"),
    [
        ('open("EXECUTED", "w").close()\nclass Own:\n    feedback = "telemetry"\n', None),
        ('open("EXECUTED", "w").close()\nfrom elsewhere import Other as Own\n', None),
        ('open("EXECUTED", "w").close()\nOwn = make()\n', None),
        ('open("EXECUTED", "w").close()\nclass Another: ...\n', "has no class Own"),
        ('open("EXECUTED", "w").close()\nclass Own:\n    feedback = "smoke"\n', "feedback must be"),
        ('open("EXECUTED", "w").close()\nclass Own(:\n', "is not valid Python"),
        ("(" * 100_000, "is not valid Python"),
        (None, "there is no file"),
    ],
)
def test_planning_reads_the_modules_of_the_experiment_and_executes_none(
    tmp_path, module, refusal, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    if module is not None:
        (tmp_path / "own.py").write_text(module)
    path = tmp_path / "experiment.toml"
    path.write_text(
        '[experiment]\nname = "own"\n[factors]\nscheme = ["hpcc", "python:own:Own"]\n'
        '[trial]\nkind = "simulation"\nscheme = "{scheme}"\ntopology = "dumbbell:4x4,10Gbit/s,1us"\n'
        'workload = { sizes = "fixed:1000B", load = "60%", duration = "1ms" }\n[metrics.slowdown]\n'
        "[design]\nseries = 1\nrounds = 2\n"
    )
    with nullcontext() if refusal is None else pytest.raises(PlanError, match=refusal):
        plan(path)
    assert not (tmp_path / "EXECUTED").exists()
