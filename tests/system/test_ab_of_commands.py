"""`trialwise ab COMMAND COMMAND …` with real programs: the answer, what is exported, and what is refused before a trial runs."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).parents[2] / "schemas"
TRIALWISE = str(Path(sys.executable).parent / "trialwise")
COST = ("--metric", "cost:lower=stdout:cost (.*)", "--quiet")


def ab(*words, cwd, code, given=None):
    done = subprocess.run(
        [TRIALWISE, "ab", *words],
        cwd=cwd,
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def costs(folder, **programs):
    """Programs that print the cost that is given, and one more in every second trial."""
    for name, cost in programs.items():
        path = folder / name
        path.write_text(
            "#!/bin/sh\nn=$(cat $0.count 2>/dev/null || echo 0)\necho $((n + 1)) > $0.count\n"
            f"echo cost $(({cost} + n % 2))\n"
        )
        path.chmod(0o755)


def test_three_commands_are_held_against_the_first_in_every_medium(tmp_path):
    costs(tmp_path, old=100, new=80, worst=150)
    files = [f"out.{ending}" for ending in ("md", "csv", "json", "html", "svg")]
    words = [word for name in files for word in ("--export", name)]
    said = ab("./old", "./new", "./worst", *COST, "--trials", "6", *words, cwd=tmp_path, code=1)
    # The means are 100.5, 80.5 and 150.5: -19.9 % and +49.75 %.
    assert said.stdout.startswith("./new is better: cost 19.9")
    assert "; worse: ./worst." in said.stdout
    assert "Holm over 2 differences" in said.stdout
    document = json.loads((tmp_path / "out.json").read_text())
    Draft202012Validator(json.loads((SCHEMAS / "ab.json").read_text())).validate(document)
    rows = document["comparison"]["rows"]
    percents = [row["difference"]["percent"]["estimate"] for row in rows]
    assert percents == pytest.approx([-2000 / 100.5, 5000 / 100.5])
    table = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert [(row["treatment"], row["direction"]) for row in table] == [
        ("./new", "better"),
        ("./worst", "worse"),
    ]
    assert re.search(r"\| \./new \| 80\.50? \|", (tmp_path / "out.md").read_text())
    assert "./worst" in (tmp_path / "out.html").read_text()
    assert re.search(r"<svg.*</svg>", (tmp_path / "out.svg").read_text(), re.DOTALL)
    assert (tmp_path / "ab.results" / ".gitignore").read_text().endswith("*\n")


def test_shell_syntax_a_comment_and_output_are_measured_as_they_are_written(tmp_path):
    words = ("echo cost 5 | cat # five", "echo cost 5; seq 20000 >&2", *COST, "--trials", "4")
    said = ab(*words, cwd=tmp_path, code=0).stdout
    assert "have the same cost within 3 %" in said
    assert "n = 4 each" in said


def test_standard_input_that_no_trial_reads_is_told(tmp_path):
    words = ("echo cost $(wc -c)", "echo cost $(wc -c | cat)", *COST, "--trials", "3")
    said = ab(*words, cwd=tmp_path, code=3, given="four")
    assert "standard input is not passed on" in said.stderr


def test_a_command_that_fails_is_named_with_what_lifts_it(tmp_path):
    said = ab("true", "false", "--quiet", cwd=tmp_path, code=4).stdout
    assert said.startswith("No verdict: too few trials have a value (every trial of false failed).")
    assert "('command || true' lets it)" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("./here 1", "true"), "./here: this file is not executable\n  try: chmod +x ./here"),
        (("prog", "true"), "prog: there is no such program\n  try: did you mean ./prog?"),
        (("./prag", "true"), "./prag: there is no such program\n  try: did you mean ./prog?"),
        (("echo (", "true"), "echo (: "),
        (("", "true"), "a command is empty"),
        (("true",), "1 command: expected 2 to 20"),
        (("true", "true", "--base", "true"), "commands in two ways"),
        (("--base", "true"), "--head: missing"),
        ((), "two commands: missing"),
        (("true", "true", "--export", "out.txt"), "there are .md, .csv, .json, .html, .svg"),
        (("true", "true", "--export", "no/out.md"), "there is no folder no"),
    ],
)
def test_what_cannot_run_is_refused_before_a_trial(tmp_path, words, said):
    (tmp_path / "here").write_text("")
    (tmp_path / "prog").write_text("#!/bin/sh\n")
    (tmp_path / "prog").chmod(0o755)
    assert said in ab(*words, cwd=tmp_path, code=2).stderr
    assert not (tmp_path / "ab.results").exists()
