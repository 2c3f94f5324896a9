"""`trialwise effects`: exit codes, documents, figures, tables in the paper's form, what is wrong in the data."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import in_process

ROOT = Path(__file__).resolve().parents[3]
START = "from trialwise.cli.main import main; main()"
TABLE = ["trials.csv", "--group", "flavour", "--group", "load", "--value", "delay"]


def run(*arguments, cwd):
    return in_process.trialwise("effects", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("effects")
    for name, words in (("trials.csv", []), ("samples.csv", ["samples"])):
        made = in_process.run(["python", str(ROOT / "docs/how-to/factor_trials.py"), *words], path)
        (path / name).write_text(made.stdout)
    return path


def schema():
    return json.loads((ROOT / "schemas/effects.json").read_text())


def test_json_follows_its_schema_and_files_are_written(folder):
    places = ["--csv", "e.csv", "--latex", "e.tex", "--svg", "figures", "--json", "--gate"]
    done = run(*TABLE, "--base", "flavour=none", "--margin", "3%", *places, cwd=folder)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema())
    assert document["margins"] == {"delay": "3 %"}
    assert {path.name for path in (folder / "figures").iterdir()} == {
        "interaction-0.svg",
        "effects-0.svg",
        "comparisons-0.svg",
    }
    with (folder / "e.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["term"] for row in rows] == ["flavour", "load", "flavour:load"]
    assert float(rows[0]["f"]) == document["results"][0]["terms"][0]["f"]
    assert (folder / "e.tex").read_text().count(r"\begin{tabular}") == 2


def test_an_effect_that_no_trial_can_show_is_called_not_tested(tmp_path):
    """A factor that ran at one level of another has no effect there that could be none."""
    cells = {("a", "x"): 10, ("a", "y"): 20, ("a", "z"): 14, ("b", "x"): 19, ("b", "y"): 10}
    rows = [f"{f},{load},{mean + 0.1 * (n % 4)}" for (f, load), mean in cells.items() for n in range(8)]
    (tmp_path / "trials.csv").write_text("\n".join(["flavour,load,delay", *rows]))
    lines = [line.split() for line in run(*TABLE, cwd=tmp_path).stdout.splitlines()]
    assert [line[2:] for line in lines if line[:2] == ["flavour", "load=z"]] == [
        ["not", "tested", "–", "–", "8"]
    ]


def test_exit_codes_follow_the_verdict(folder):
    few = ["--by", "load", "--base", "flavour=none", "--margin", "3%"]
    assert run(*TABLE, *few, cwd=folder).returncode == 0
    assert run(*TABLE, *few, "--gate", cwd=folder).returncode == 1
    quiet = (folder / "trials.csv").read_text().splitlines()
    (folder / "quiet.csv").write_text("\n".join(line for line in quiet if ",1000," not in line) + "\n")
    arguments = ["quiet.csv", "--group", "flavour", "--by", "load", "--value", "delay"]
    within = run(*arguments, "--margin", "3%", cwd=folder)
    assert within.returncode == 0, within.stdout
    assert within.stdout.startswith(
        "No factor matters: no level differs from its base by more than the margin"
    )
    assert run(*arguments, cwd=folder).returncode == 3
    assert run(*arguments, "--margin", "delay=1%", cwd=folder).returncode == 3


def test_every_method_runs(folder):
    for method in ("ordinary", "freedman_lane", "raw_permutation"):
        done = run(*TABLE, "--method", method, "--permutations", 499, "--json", "--gate", cwd=folder)
        assert done.returncode == 1, done.stderr
        (one,) = json.loads(done.stdout)["results"]
        assert one["method"].startswith(method)
        assert one["permutations"] == (None if method == "ordinary" else 499)


def test_the_papers_tables(folder):
    arguments = ["samples.csv", "--group", "flavour", "--value", "delay", "--trial", "trial", "--by", "load"]
    paper = ["--method", "paper", "--permutations", 499, "--gate"]
    done = run(*arguments, *paper, "--latex", "p.tex", "--svg", "paper", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert "Samples of a trial are not repetitions" in done.stdout
    assert re.search(r"^ +d\.f\. +SS +MS +F +p", done.stdout, re.MULTILINE)
    assert re.search(r"^  flavour +2 .* <0\.001 +\*\*\*$", done.stdout, re.MULTILINE)
    assert "every-none" in done.stdout
    assert (
        max(len(line) for line in done.stdout.splitlines() if re.match(r"  (flavour|residuals|every)", line))
        <= 60
    )
    latex = (folder / "p.tex").read_text()
    assert "% delay at load=1000" in latex
    assert re.search(
        r"^\\texttt\{flavour\} & 2 & .* & \\textless\{\}0\.001 & \*\*\* \\\\$", latex, re.MULTILINE
    )
    assert "Significance level" in latex
    assert len(list((folder / "paper").iterdir())) == 3
    resampled = run(*arguments, *paper, "--resample", "--json", cwd=folder)
    document = json.loads(resampled.stdout)
    jsonschema.validate(document, schema())
    assert "28%" in document["warning"]


def test_samples_of_a_trial_count_once(folder):
    arguments = [
        "samples.csv",
        "--group",
        "flavour",
        "--group",
        "load",
        "--value",
        "delay",
        "--trial",
        "trial",
    ]
    done = run(*arguments, cwd=folder)
    assert done.returncode == 3
    assert "each treatment ran in one trial; repeat every treatment in at least two trials" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nothing.csv"], 7, "no such file"),
        (["trials.csv", "--factor", "flavour", "--factor", "load"], 2, "--group flavour --group load"),
        (["trials.csv", "--factor", "{a}_{b}.csv", "--factor", "load"], 2, "with --group load"),
        ([*TABLE, "--factor", "{load}.csv"], 7, "leave --factor out"),
        (["trials.csv"], 7, "add --group COLUMN and --value COLUMN"),
        (["trials.csv", "--group", "flavor", "--value", "delay"], 7, "'flavour' is there"),
        (
            ["trials.csv", "--group", "flavour", "--value", "load", "--group", "load"],
            7,
            "a factor and something else",
        ),
        (["trials.csv", "--group", "load", "--value", "flavour"], 7, "not a finite number"),
        ([*TABLE, "--margin", "much"], 2, "write 3%, 0.5 or METRIC=3%"),
        ([*TABLE, "--margin", "loss=3%"], 2, "metrics: delay"),
        ([*TABLE, "--base", "none"], 2, "--base flavour=none"),
        ([*TABLE, "--base", "flavour=off"], 7, "has no level 'off'"),
        ([*TABLE, "--by", "flavour", "--by", "load"], 7, "none is left"),
        ([*TABLE, "--resample"], 2, "--method paper"),
        ([*TABLE, "--confidence", "40"], 2, "--confidence"),
        ([*TABLE, "--permutations", "0"], 2, "--permutations"),
        ([*TABLE, "--csv", "nowhere/e.csv"], 2, "no folder"),
        ([*TABLE, "--metric", "delay"], 7, "no column 'metric'"),
    ],
)
def test_refusals(folder, arguments, code, words):
    done = run(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_wrong_in_the_data_is_said_and_the_rest_is_computed(folder):
    lines = (folder / "trials.csv").read_text().splitlines()
    lines[3] = lines[3].rpartition(",")[0] + ",nan"
    lines[5] = "," + lines[5].partition(",")[2]
    lines.append(lines[9])
    (folder / "wrong.csv").write_text(
        "\n".join(line + f",{3 if place else 'cpu'}" for place, line in enumerate(lines))
    )
    done = run("wrong.csv", *TABLE[1:], "--value", "cpu", cwd=folder)
    assert done.returncode == 0, done.stderr
    for words in (
        "1 row without a level of every factor left out, first in line 6",
        "1 row without a value of delay left out",
        "1 row equal another one in every column",
        "of cpu are 3: there is nothing to explain",
        "delay: flavour, load and flavour:load matter",
    ):
        assert words in done.stdout


def test_metrics_of_a_long_table(folder):
    rows = (folder / "trials.csv").read_text().splitlines()
    (folder / "long.csv").write_text(
        "\n".join(
            [rows[0] + ",metric", *(f"{row},{name}" for row in rows[1:] for name in ("delay", "again"))]
        )
    )
    several = run("long.csv", *TABLE[1:], cwd=folder)
    assert (several.returncode, "name one with --metric" in several.stderr) == (7, True)
    one = run("long.csv", *TABLE[1:], "--metric", "again", cwd=folder)
    assert one.stdout.startswith("again: flavour, load and flavour:load matter")


EXPERIMENT = """
[experiment]
name = "probes"
seed = 7
[factors]
flavour = ["full", "none"]
load = [1, 3]
[trial]
command = "bash -c 'echo $(( {load} * 100 + RANDOM % 8 + $([ {flavour} = full ] && echo 20 || echo 0) ))'"
[metrics.delay]
stdout = "([0-9]+)"
unit = "ms"
margin = "5%"
[design]
series = 1
rounds = 6
base = "flavour=none"
"""


def test_an_experiment_directory(tmp_path):
    (tmp_path / "probes.toml").write_text(EXPERIMENT)
    start = [sys.executable, "-c", START, "run", "probes.toml"]
    subprocess.run(start, capture_output=True, cwd=tmp_path, check=True)
    done = run("probes.results", "--json", "--gate", cwd=tmp_path)
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema())
    assert done.returncode == 1
    assert document["base"] == {"flavour": "none", "load": "1"}
    assert document["margins"] == {"delay": "5 %"}
    (one,) = document["results"]
    assert (one["n"], one["level"], one["unit"]) == (24, "trial", "ms")
    row = one["comparisons"][0]
    assert (row["base"], row["level"], row["verdict"]) == ("none", "full", "different")
    assert 15 < row["difference"] < 25
    paper = run("probes.results", "--method", "paper", "--by", "load", cwd=tmp_path)
    assert paper.returncode == 0, paper.stderr
    wrong = run("probes.results", "--group", "flavour", cwd=tmp_path)
    assert (wrong.returncode, "are for tables" in wrong.stderr) == (7, True)
    wrong = run("probes.results", "--factor", "{flavour}.csv", cwd=tmp_path)
    assert (wrong.returncode, "leave --factor out" in wrong.stderr) == (7, True)
