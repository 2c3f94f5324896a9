"""What `verify` says before it runs anything: what each claim takes here, whether it can run, what differs, what to type next."""

import json
import os
import shutil
import sqlite3

import pytest

import artifacts
from in_process import trialwise

TEXT = artifacts.TEXT.replace(
    'better = "lower"', 'better = "lower"\nkpi = { percentile = 50, confidence = 75 }'
)
CLAIMS = (
    artifacts.CLAIMS.replace("[[claim]]", "[needs]\ncores = 1\n\n[[claim]]", 1)
    + """
[[claim]]
id = "C2"
text = "One takes less than 1200 steps in any run"
metric = "steps"
every = { where = { n = 1 }, at_most = 1200 }
rerun = false
"""
)
MEANS = """SELECT treatment, avg(next - claimed) FROM
(SELECT treatment, claimed, coalesce(lead(claimed) OVER (ORDER BY claimed), finished) AS next FROM trial) GROUP BY treatment"""
"""Seconds of a trial of each treatment, from one to the next, with what is between them."""
ROUNDS = 7
"""Of a smallest re-run, where the claim states none (docs/how-to/verify-an-artifact.md)."""


def packed(folder):
    place = artifacts.measured(folder / "work", TEXT, CLAIMS)
    done = trialwise("pack", "sums.results", "--licence", "CC-BY-4.0", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return packed(tmp_path_factory.mktemp("bench"))


def here(artifact):
    return json.loads(trialwise("verify", artifact, "--json", cwd=artifact.parent).stdout)["here"]


def ledger(place, query):
    with sqlite3.connect(f"file:{place}/sums.results/ledger.sqlite?mode=ro", uri=True) as opened:
        return opened.execute(query).fetchall()


def test_time_and_needs_of_each_claim_are_those_that_the_ledger_has(bench):
    one, two = here(bench / "artifact.zip")["claims"]
    means = dict(ledger(bench, MEANS))
    assert (one["runs"], one["why"], one["pace"]) == (True, "", None)
    assert one["smallest"] == pytest.approx(ROUNDS * sum(means.values()))
    assert one["decided"] >= one["smallest"]
    ((processor, memory),) = ledger(
        bench,
        "SELECT sum(value) FILTER (WHERE source LIKE '%user' OR source LIKE '%system'), "
        "max(value) FILTER (WHERE source LIKE '%max_rss') FROM value",
    )
    assert one["trials"] == len(ledger(bench, "SELECT 1 FROM trial"))
    assert (one["processor"], one["memory"]) == (pytest.approx(processor), memory)
    assert one["root"] is (os.geteuid() == 0)
    assert (two["runs"], two["smallest"]) == (False, None)
    assert two["trials"] == len(ledger(bench, "SELECT 1 FROM trial WHERE treatment = 'n=1'"))
    assert two["why"].startswith("recomputed only: ")


def test_it_says_before_anything_runs_what_that_takes_and_what_to_type_next(bench):
    said = trialwise("verify", "artifact.zip", cwd=bench, COLUMNS="80").stdout
    table = said.partition("What it takes to measure them again here")[2].partition("\n\n")[0]
    assert "by the authors' time: no trial has run here yet" in table
    assert "The authors state that it needs 1 core." in table
    after = said.partition("\nNext\n")[2].partition("\n\n")[0].split("\n")
    assert [line.strip() for line in after] == [
        "trialwise verify artifact.zip --show C1",
        "trialwise verify artifact.zip --kick --budget 6min",
        "trialwise verify artifact.zip --claim C1",
        "trialwise diff artifact.zip here",
        "trialwise verify artifact.zip --report ae.md",
    ]
    assert not (bench / "verify-1").exists()
    for line in after[:2]:
        assert trialwise(*line.split()[1:], "-o", "again", cwd=bench).returncode in {0, 3}
    shutil.rmtree(bench / "again")


def test_what_ran_here_gives_the_pace_and_is_not_said_again(bench, tmp_path):
    shutil.copy(bench / "artifact.zip", tmp_path)
    first = here(tmp_path / "artifact.zip")["claims"][0]
    done = trialwise("verify", "artifact.zip", "--kick", "--report", "ae.md", cwd=tmp_path)
    assert "What it takes" not in done.stdout
    assert "What it takes to measure them again here" in (tmp_path / "ae.md").read_text()
    again = here(tmp_path / "artifact.zip")["claims"][0]
    with sqlite3.connect(tmp_path / "verify-1/sums.results/ledger.sqlite") as opened:
        ours, theirs = dict(opened.execute(MEANS)), dict(ledger(bench, MEANS))
    assert again["pace"] == pytest.approx(sum(ours.values()) / sum(theirs.values()))
    assert again["smallest"] == pytest.approx(first["smallest"] * again["pace"])


def test_what_is_lacking_here_is_named_by_claim(bench, tmp_path):
    changed = artifacts.unpacked(bench / "artifact.zip", tmp_path / "artifact")
    stated = (changed / "claims.toml").read_text()
    (changed / "claims.toml").write_text(stated.replace("cores = 1", 'cores = 1\nother = ["a quiet room"]'))
    artifacts.sign_again(changed)
    lacking = here(changed)
    assert lacking["needs"] == ["1 core", "a quiet room"]
    assert [claim["runs"] for claim in lacking["claims"]] == [False, False]
    assert "a quiet room" in lacking["claims"][0]["why"]


def test_a_program_that_is_not_here_is_named(bench, tmp_path):
    with_zip = artifacts.unpacked(bench / "artifact.zip", tmp_path / "artifact")
    (with_zip / "programs/sums.results/work").unlink()
    artifacts.sign_again(with_zip)
    found = here(with_zip)["claims"][0]
    assert found["runs"] is False
    assert "no program './work'" in found["why"]


def test_differences_that_matter_most_stand_last_and_in_the_report_below_its_question(bench, tmp_path):
    changed = artifacts.unpacked(bench / "artifact.zip", tmp_path / "artifact")
    for file in (changed / "sums.results/environments").iterdir():
        record = json.loads(file.read_text())
        record["processor"]["model"] = "Another One 9000"
        file.write_text(json.dumps(record))
    artifacts.sign_again(changed)
    first = here(changed)["differences"][0]
    assert (first["name"], first["a"]) == ("processor.model", ["Another One 9000"])
    said = trialwise("verify", changed, "--report", "ae.md", cwd=tmp_path).stdout
    assert "processor.model: Another One 9000 | " in said.partition("What differs most, theirs | here\n")[2]
    question = (tmp_path / "ae.md").read_text().partition("Q4.")[2].partition("####")[0]
    assert "Another One 9000" in question
