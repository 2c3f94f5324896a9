"""`trialwise calibrate`: a path from trials over a planted one, its certificate, and experiments that use it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

import in_process

ROOT = Path(__file__).resolve().parents[3]
START = [sys.executable, "-c", "from trialwise.cli.main import main; main()"]
FILE = """
[experiment]
name = "{name}"
seed = 3

[factors]
scheme = [{schemes}]

[trial]
kind = "path"
engine = "simulated"
scheme = "{{scheme}}"
runtime = "4s"
warmup = "1s"
path = {path}
{trial}

[metrics.{metric}]
measure = "{measure}"

[design]
series = 1
rounds = {rounds}
"""
PLANTED = '{ delay = "10ms", rate = "12Mbit/s", uplink = { queue = "droptail:packets=25", loss = "0.5%" } }'
CODEL = '{ delay = "10ms", rate = "12Mbit/s", uplink = { queue = "codel:packets=1000" } }'
THREE = '"udp-cubic", "udp-newreno", "udp-copa"'


def write(folder: Path, name: str, **changed: object) -> Path:
    given = {
        "name": name, "schemes": THREE, "path": PLANTED, "trial": "", "metric": "throughput",
        "measure": "mean", "rounds": 4,
    }  # fmt: skip
    file = folder / f"{name}.toml"
    file.write_text(FILE.format(**(given | changed)))
    return file


def ran(folder: Path, name: str, **changed: object) -> str:
    file = write(folder, name, **changed)
    done = in_process.trialwise("run", file, "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    return f"{name}.results"


def calibrate(folder: Path, *words: object):
    return in_process.trialwise("calibrate", *words, cwd=folder)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("calibrate")
    real = ran(folder, "real")
    done = calibrate(folder, real, "--hold-out", "scheme=udp-copa", "-o", "home.path", "--json")
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_the_certificate_follows_its_schema_and_stands_beside_the_path(fitted):
    folder, document = fitted
    jsonschema.validate(document, json.loads((ROOT / "schemas/certificate.json").read_text()))
    assert json.loads((folder / "home.certificate.json").read_text()) == document
    assert (folder / "home.certificate.md").read_text().startswith("###")
    assert document["digest"] in (folder / "home.path").read_text()
    assert not (folder / "home.evaluations.jsonl").exists()


def test_the_planted_parameters_lie_in_their_intervals(fitted):
    found = {one["name"]: one for one in fitted[1]["parameters"]}
    for name, planted in {"rate": 12e6, "delay": 0.010, "queue": 25, "loss": 0.005}.items():
        assert found[name]["low"] <= planted <= found[name]["high"], name


def test_schemes_that_were_held_out_are_judged_and_the_others_left_out_in_turn(fitted):
    _, document = fitted
    assert document["held_out"] == ["scheme=udp-copa"]
    assert {row["treatment"] for row in document["judged"]} == {"scheme=udp-copa"}
    assert {row["treatment"] for row in document["left_out"]} == {"scheme=udp-cubic", "scheme=udp-newreno"}
    assert "different" not in {row["verdict"] for row in document["judged"]}
    throughput = next(row for row in document["judged"] if row["metric"] == "throughput")
    assert throughput["verdict"] == "equivalent"
    assert throughput["n"] == [4, 40]


def test_the_same_options_give_the_same_path(fitted, tmp_path: Path):
    folder, document = fitted
    again = tmp_path / "again.path"
    done = calibrate(folder, "real.results", "--hold-out", "scheme=udp-copa", "-o", again, "--json")
    other = json.loads(done.stdout)
    same = [key for key in document if key not in {"made", "digest", "search"}]
    assert {key: other[key] for key in same} == {key: document[key] for key in same}


def test_an_experiment_uses_the_path_and_its_report_says_where_it_is_from(fitted):
    folder, _ = fitted
    real = ran(folder, "user", path='"file:home.path"', rounds=2)
    done = in_process.trialwise("analyze", real, "--json", cwd=folder)
    path = json.loads(done.stdout)["path"]["paths"][0]
    assert path["source"].startswith("home.path: calibrated to real.results")
    assert (folder / real / "home.path").is_file()


def test_loads_of_fixed_size_are_judged_by_their_completion_time(tmp_path: Path):
    """Some loads take longer over the emulated path than those over the real one had time for."""
    sized = {"trial": 'load = "bytes:3MB"', "metric": "completion_time", "measure": "mean"}
    file = write(tmp_path, "real", rounds=6, **sized)
    file.write_text(file.read_text().replace('"4s"', '"2900ms"').replace('warmup = "1s"', ""))
    assert in_process.trialwise("run", file, "--quiet", cwd=tmp_path).returncode == 4  # some do not finish
    done = calibrate(
        tmp_path, "real.results", "--hold-out", "scheme=udp-copa", "-o", "c.path", "--budget", "20s", "--json"
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (row,) = (row for row in document["judged"] if row["metric"] == "completion_time")
    assert row["verdict"] == "equivalent"
    told = json.loads(in_process.trialwise("analyze", "real.results", "--json", cwd=tmp_path).stdout)
    trials = told["metrics"][0]["trials"]
    by_sender = [one["value"] for one in trials if one["treatment"] == "scheme=udp-copa"]
    # The sender knows of the end when the last acknowledgement has come back, 10 ms later.
    assert row["means"][0] == pytest.approx(sum(by_sender) / len(by_sender) - 0.010, abs=0.003)


def test_a_path_refuses_metrics_in_which_it_is_different(tmp_path: Path):
    real = ran(tmp_path, "real", path=CODEL, rounds=5)
    done = calibrate(
        tmp_path, real, "--hold-out", "scheme=udp-cubic", "-o", "codel.path", "--gate", "--margin", "1%"
    )
    assert done.returncode == 1, done.stdout
    failed = json.loads((tmp_path / "codel.certificate.json").read_text())["failed"]
    assert failed
    assert "queueing_delay_p95" in failed
    metric = "queueing_delay_p95"
    user = {"metric": "delay", "measure": "p95", "rounds": 2}
    file = write(tmp_path, "user", path='"file:codel.path"', **user)
    refused = in_process.trialwise("run", file, "--quiet", cwd=tmp_path)
    assert refused.returncode == 2
    assert f"despite={metric}" in refused.stderr
    results = ran(tmp_path, "all", path=f'"file:codel.path,despite={metric}"', **user)
    told = json.loads(in_process.trialwise("analyze", results, "--json", cwd=tmp_path).stdout)["path"][
        "paths"
    ][0]
    assert f"used despite its certificate: {metric}" in told["source"]
    assert told["source"] in in_process.trialwise("analyze", results, cwd=tmp_path).stdout


def test_a_search_that_was_killed_goes_on(fitted, tmp_path: Path):
    folder, document = fitted
    words = ["real.results", "--hold-out", "scheme=udp-copa", "-o", str(tmp_path / "k.path")]
    log = tmp_path / "k.evaluations.jsonl"
    process = subprocess.Popen([*START, "calibrate", *words], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None and (not log.exists() or log.read_bytes().count(b"\n") < 3):
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = log.read_text().splitlines()[:3]
    with log.open("a") as file:
        file.write('{"search": "cut o')  # as a kill in the middle of a line leaves it
    done = calibrate(folder, *words, "--json")
    assert done.returncode == 0, done.stderr
    other = json.loads(done.stdout)
    assert other["parameters"] == document["parameters"]
    seconds = sum(json.loads(line)["seconds"] for line in before)
    assert other["search"]["evaluations"] == document["search"]["evaluations"]
    assert other["search"]["seconds"] > seconds


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--hold-out", "scheme=bbr"], 2, "no such level"),
        (["--hold-out", "shceme=udp-copa"], 2, "no such factor"),
        (["--hold-out", "scheme=udp-copa,udp-cubic,udp-newreno"], 2, "every treatment is held out"),
        (["--budget", "1us"], 2, "too small"),
        (["--budget", "soon"], 2, "--budget"),
        (["--margin", "speed=3"], 2, "no such metric"),
        (["--only", "scheme=none"], 2, "no such level"),
        (["--seed", "-1"], 2, "below 0"),
    ],
)
def test_wrong_options_are_named(fitted, tmp_path: Path, words: list[str], code: int, said: str):
    done = calibrate(fitted[0], "real.results", "-o", tmp_path / "x.path", *words)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert not (tmp_path / "x.path").exists()


def test_places_that_are_taken_or_have_another_name_are_refused(fitted):
    folder, _ = fitted
    taken = calibrate(folder, "real.results", "-o", "home.path")
    assert (taken.returncode, "there is such a file" in taken.stderr) == (2, True)
    other = calibrate(folder, "real.results", "-o", "home.toml")
    assert (other.returncode, "NAME.path" in other.stderr) == (2, True)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rounds": 1}, "has one trial"),
        ({"trial": 'packets = "drop"', "rounds": 2}, "no packets were kept"),
    ],
)
def test_trials_that_nothing_can_be_fitted_to(tmp_path: Path, changed: dict[str, object], said: str):
    real = ran(tmp_path, "real", **changed)
    done = calibrate(tmp_path, real, "-o", "x.path")
    assert (done.returncode, said in done.stderr) == (7, True), done.stderr


def test_trials_whose_packets_are_gone_are_told_of(fitted, tmp_path: Path):
    shutil.copytree(fitted[0] / "real.results", tmp_path / "real.results")
    gone = min((tmp_path / "real.results" / "samples").glob("*-packets.parquet"))
    gone.unlink()
    os.mkfifo(gone)  # is not waited for, either
    done = calibrate(tmp_path, "real.results", "-o", "x.path", "--json")
    assert done.returncode == 0, done.stderr
    assert "1 trial whose packets were not kept or are gone: left out" in json.loads(done.stdout)["notes"]


def test_an_interruption_says_what_is_kept(fitted, tmp_path: Path):
    log = tmp_path / "k.evaluations.jsonl"
    words = [*START, "calibrate", "real.results", "-o", str(tmp_path / "k.path")]
    process = subprocess.Popen(words, cwd=fitted[0], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and (not log.exists() or log.read_bytes().count(b"\n") < 3):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "k.evaluations.jsonl has what was evaluated" in said


def test_a_path_that_nothing_fills_is_refused(tmp_path: Path):
    load = 'load = "rate:1Mbit/s"'
    real = ran(tmp_path, "real", schemes='"udp-cubic", "udp-newreno"', trial=load, rounds=2)
    done = calibrate(tmp_path, real, "-o", "x.path")
    assert (done.returncode, "ever busy" in done.stderr) == (7, True), done.stderr


def test_other_kinds_of_trial_are_refused(tmp_path: Path):
    file = tmp_path / "c.toml"
    file.write_text(
        '[experiment]\nname = "c"\n[trial]\ncommand = "true"\n[metrics.time]\nresource = "wall"\n[design]\nrounds = 2\n'
    )
    assert in_process.trialwise("run", file, "--quiet", cwd=tmp_path).returncode == 0
    done = calibrate(tmp_path, "c.results", "-o", "x.path")
    assert (done.returncode, "kind path" in done.stderr) == (7, True), done.stderr


def test_no_clue_of_another_machine_is_in_the_certificate(fitted):
    assert os.fspath(fitted[0]) not in json.dumps(fitted[1])


@pytest.fixture(scope="module")
def over(fitted) -> tuple[Path, str]:
    folder, _ = fitted
    return folder, ran(folder, "over", path='"file:home.path"', rounds=3)


def test_a_path_is_judged_by_trials_over_it(over, tmp_path: Path):
    folder, results = over
    out = tmp_path / "judged.path"
    done = calibrate(folder, "real.results", "--judge", results, "-o", out, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads((ROOT / "schemas/certificate.json").read_text()))
    assert document["search"]["ended"] == "given"
    assert [row["metric"] for row in document["judged"]] == ["throughput"] * 3
    lines = [line for line in out.read_text().splitlines() if line.startswith(("uplink", "downlink"))]
    assert all(line in (folder / "home.path").read_text() for line in lines)
    assert len(lines) == 2


def test_printed_means_are_judged_as_trials_are(over, tmp_path: Path):
    folder, results = over
    (tmp_path / "printed.csv").write_text(
        "scheme,metric,unit,better,n,mean,sd\nudp-copa,throughput,Mbit/s,higher,10,11.8,0.1\nudp-cubic,throughput,Mbit/s,higher,10,2.0,0.1\n"
    )
    words = [tmp_path / "printed.csv", "--judge", results, "-o", tmp_path / "p.path"]
    done = calibrate(folder, *words, "--gate")
    assert done.returncode == 1, done.stderr
    document = json.loads((tmp_path / "p.certificate.json").read_text())
    assert {row["treatment"]: row["verdict"] for row in document["judged"]}["scheme=udp-cubic"] == "different"
    assert (document["betrayed"], document["failed"]) == ("scheme=udp-cubic", ["throughput"])
    assert document["correction"] == "Holm over 2 differences"  # there are no trials to lie beyond others
    assert {row["beyond"] for row in document["judged"]} == {None}
    refused = in_process.trialwise(
        "run", write(tmp_path, "user", path='"file:p.path"', rounds=2), "--quiet", cwd=tmp_path
    )
    assert (refused.returncode, "despite=throughput" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--judge", "over.results", "--b", "scheme=none"], "no level"),
        (["--b", "scheme=udp-copa"], "--judge, which is not given"),
        (["--judge", "over.results", "--real"], "--real is for a fit"),
    ],
)
def test_wrong_options_of_a_judgement(over, tmp_path: Path, words: list[str], said: str):
    done = calibrate(over[0], "real.results", "-o", tmp_path / "x.path", *words)
    assert done.returncode in {2, 7}
    assert said in done.stderr


@pytest.fixture(scope="module")
def several(fitted) -> tuple[Path, str]:
    """Trials over four paths of which one is the planted one."""
    folder, _ = fitted
    file = write(
        folder,
        "several",
        path='{ delay = "{delay}", rate = "{rate}", uplink = { queue = "droptail:packets=25", loss = "0.5%" } }',
        rounds=3,
    )
    factors = '[factors]\nrate = ["14Mbit/s", "12Mbit/s"]\ndelay = ["30ms", "10ms"]\n'
    file.write_text(file.read_text().replace("[factors]\n", factors))
    assert in_process.trialwise("run", file, "--quiet", cwd=folder).returncode == 0
    return folder, "several.results"


def test_of_several_paths_the_nearest_is_judged_on_what_was_held_out(several, tmp_path: Path):
    folder, results = several
    words = ["--judge", results, "--hold-out", "scheme=udp-copa", "-o", tmp_path / "near.path", "--json"]
    done = calibrate(folder, "real.results", *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    jsonschema.validate(found, json.loads((ROOT / "schemas/certificate.json").read_text()))
    assert all(word in found["uplink"] for word in ("rate 12Mbit/s", "delay 10ms"))
    assert (found["held_out"], set(found["fitted"])) == (
        ["scheme=udp-copa"],
        {"scheme=udp-cubic", "scheme=udp-newreno"},
    )
    assert {row["treatment"] for row in found["judged"]} == {"scheme=udp-copa"}
    search = found["search"]
    assert (search["ended"], search["evaluations"], search["trials"]) == ("chosen", 4, 3)
    assert 0 <= search["chosen"] < search["identified"] < 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "its trials are of 4 paths"),
        (["--hold-out", "scheme=udp-copa,udp-cubic,udp-newreno"], "every treatment is held out"),
        (["--hold-out", "scheme=none"], "no such level"),
    ],
)
def test_wrong_choices_among_paths(several, tmp_path: Path, words: list[str], said: str):
    done = calibrate(several[0], "real.results", "--judge", several[1], "-o", tmp_path / "x.path", *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
