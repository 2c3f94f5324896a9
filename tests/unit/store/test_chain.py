"""The hash chain of a ledger: computed again from its description alone, and what it finds when somebody changes a directory."""

import hashlib
import json
import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from in_process import trialwise
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.verifying import ChainCheck, verify

TEXT = """
[experiment]
name = "t"

[trial]
command = "sh -c 'echo {scheme} 1{round}.{position}; (echo n; seq {trial} 20) > n.csv; test {trial} != 4'"

[factors]
scheme = ["a", "b"]

[metrics.speed]
stdout = "[ab] ([0-9.]+)"

[metrics.count]
file = "n.csv"
csv = "n"

[design]
rounds = 4
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A directory whose trial 4 failed, was tried again and failed again, and of which trial 6 is left out."""
    folder = tmp_path_factory.mktemp("chain")
    (folder / "t.toml").write_text(TEXT)
    assert trialwise("run", "t.toml", "-q", cwd=folder).returncode == 4
    assert trialwise("run", "t.results", "--again", "-q", cwd=folder).returncode == 4
    said = trialwise("exclude", "t.results", "6", "--because", "the fan failed", cwd=folder)
    assert said.returncode == 0
    return folder / "t.results"


@pytest.fixture
def results(measured, tmp_path):
    return shutil.copytree(measured, tmp_path / "t.results")


def edit(results, *statements):
    with closing(sqlite3.connect(results / "ledger.sqlite")) as ledger:
        for statement in statements:
            assert ledger.execute(statement).rowcount > 0
        ledger.commit()


def check(results) -> ChainCheck:
    directory = ExperimentDirectory(results)
    with closing(directory.ledger()) as ledger:
        return verify(directory, ledger)


def broken(results) -> str:
    found = check(results).broken
    assert found is not None
    return found.text


def test_the_chain_is_the_one_of_its_description(measured):
    """docs/reference/ledger.md, written again with SQLite, JSON and SHA-256 alone."""
    with closing(sqlite3.connect(f"file:{measured}/ledger.sqlite?mode=ro", uri=True)) as ledger:
        ledger.row_factory = sqlite3.Row
        rows = [("trial", dict(row)) for row in ledger.execute("SELECT * FROM trial")]
        rows += [("amendment", dict(row)) for row in ledger.execute("SELECT * FROM amendment")]
        values = [dict(row) for row in ledger.execute("SELECT * FROM value ORDER BY source")]
        meta = dict(ledger.execute("SELECT key, value FROM meta").fetchall())
    before = hashlib.sha256((measured / "experiment.toml").read_bytes()).hexdigest()
    for table, row in sorted(rows, key=lambda each: each[1]["link"]):
        said = {"table": table, **row}
        chain = said.pop("chain")
        if table == "trial":
            names = ("source", "value", "samples", "file", "sha256")
            place = row["number"], row["attempt"]
            said["values"] = [
                [value[name] for name in names]
                for value in values
                if (value["number"], value["attempt"]) == place
            ]
        for name in ("time", "planned_start", "claimed", "started", "finished"):
            if said.get(name) is not None:
                said[name] = round(said[name] * 1e9)
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        before = hashlib.sha256(f"trialwise-ledger-1\n{before}\n{text}".encode()).hexdigest()
        assert chain == before, row
    assert meta["chain head"] == f"{len(rows)} {before}"
    assert len(rows) == 8 + 1 + 1  # trials, a further attempt, an exclusion


def test_a_directory_as_it_was_recorded_is_whole(measured):
    found = check(measured)
    assert found.broken is None
    assert found.files == 7  # counts of the finished trials


def test_an_edited_value_is_found_at_its_trial(results):
    edit(results, "UPDATE value SET value = 99 WHERE number = 3 AND value IS NOT NULL")
    found = check(results).broken
    assert found is not None
    assert (found.trial, found.attempt) == (3, 1)
    with closing(sqlite3.connect(results / "ledger.sqlite")) as ledger:
        query = "SELECT treatment, series, round, position FROM trial WHERE number = 3"
        treatment, series, round_, position = ledger.execute(query).fetchone()
    place = f"trial 3.1 ({treatment}, series {series}, round {round_}, position {position})"
    assert found.text == f"{place} was changed after it was recorded"


def test_status_checks_the_chain_where_it_is_asked_to(results):
    whole = trialwise("status", results, "--check", cwd=results.parent)
    assert whole.stderr.startswith("whole: 10 rows and 7 files of samples are as they were recorded;")
    edit(results, "UPDATE value SET value = 99 WHERE number = 3 AND value IS NOT NULL")
    assert trialwise("status", results, cwd=results.parent).returncode == 4
    found = trialwise("status", results, "--check", cwd=results.parent)
    assert (found.returncode, found.stdout) == (5, "")
    assert "trial 3.1 (" in found.stderr


def test_a_hidden_failed_attempt_is_found_by_its_number(results):
    edit(results, "DELETE FROM trial WHERE number = 4 AND attempt = 1")
    assert "row 4 of the chain is missing" in broken(results)
    assert "attempt 1 at trial 4 has no row" in broken(results)


def test_a_deleted_trial_is_found_by_its_number(results):
    edit(results, "DELETE FROM value WHERE number = 5", "DELETE FROM trial WHERE number = 5")
    assert "row 5 of the chain is missing, after trial 4.1" in broken(results)
    assert "trial 5 has no row" in broken(results)


def test_reordered_rounds_are_found_at_the_first(results):
    edit(results, "UPDATE trial SET round = CASE round WHEN 2 THEN 3 ELSE 2 END WHERE round IN (2, 3)")
    assert broken(results).startswith("trial 3.1 (")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("UPDATE trial SET link = CASE link WHEN 2 THEN 3 ELSE 2 END WHERE link IN (2, 3)", "trial 3.1 ("),
        ("UPDATE trial SET status = 'finished' WHERE number = 4 AND attempt = 1", "trial 4.1 ("),
        ("UPDATE trial SET link = NULL, chain = NULL WHERE number = 2", "row 2 of the chain is missing"),
        ("UPDATE amendment SET because = 'noise'", "amendment 1 (exclude of trial 6) was changed"),
        ("DELETE FROM amendment", "row 10 of the chain is missing, after trial 4.2"),
        ("INSERT INTO value VALUES (4, 2, 'stdout|x', 1.0, 1, NULL, NULL)", "trial 4.2 ("),
        ("UPDATE value SET file = NULL, value = 2.0 WHERE number = 1 AND samples > 1", "trial 1.1 ("),
        (
            "UPDATE meta SET value = '9 ' || substr(value, 4) WHERE key = 'chain head'",
            "row 11 of the chain is missing",
        ),
    ],
)
def test_every_other_change_is_found_where_it_is(results, changed, said):
    edit(results, changed)
    assert broken(results).startswith(said)


def test_a_tail_that_was_cut_with_its_head_is_seen_by_who_kept_the_old_head(results):
    """What docs/reference/ledger.md says that the chain alone cannot show."""
    before = check(results).head
    with closing(sqlite3.connect(results / "ledger.sqlite")) as ledger:
        [last] = ledger.execute("SELECT chain FROM trial WHERE link = 9").fetchone()
    changed = f"UPDATE meta SET value = '9 {last}' WHERE key = 'chain head'"  # noqa: S608 a test's own text
    edit(results, "DELETE FROM amendment", changed)
    found = check(results)
    assert found.broken is None
    assert found.head != before


def test_changed_samples_are_found_at_their_trial(results):
    first, other, *_ = sorted((results / "samples").glob("*.parquet"))
    first.write_bytes(other.read_bytes())
    assert broken(results).endswith(f"samples/{first.name} was changed")
    first.unlink()
    assert "has no file of its samples" in broken(results)


def test_another_experiment_file_is_found(results):
    text = (results / "experiment.toml").read_text()
    (results / "experiment.toml").write_text(text.replace("[design]", "[design]\nseed = 2"))
    assert broken(results) == "experiment.toml is not the file that the trials ran with"


def test_another_copy_of_the_experiment_file_in_the_ledger_is_found(results):
    with sqlite3.connect(results / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE meta SET value = value || ' ' WHERE key = 'experiment'")
    assert broken(results) == "the ledger's copy of experiment.toml is not the file that the trials ran with"


def test_a_changed_file_of_an_amended_plan_is_recorded_in_the_chain(results):
    file = results.parent / "t.toml"
    file.write_text(TEXT.replace("rounds = 4", "rounds = 5").replace('name = "t"', 'name = "u"'))
    file.write_text(file.read_text() + '\n[metrics.digit]\nstdout = "([0-9])\\\\."\n')
    done = trialwise("run", file, "-d", results, "--extend", "-q", cwd=results.parent)
    assert done.returncode == 4, done.stderr
    assert check(results).broken is None
    edit(results, "UPDATE value SET value = 7 WHERE number = 1 AND value IS NOT NULL")
    assert broken(results).startswith("trial 1.1 (")


@pytest.mark.parametrize("version", [1, 2])
def test_older_ledgers_are_read_as_they_are_and_chained_when_they_are_written(results, version):
    old = ["ALTER TABLE trial DROP COLUMN link", "ALTER TABLE trial DROP COLUMN chain"]
    old += ["ALTER TABLE value DROP COLUMN sha256", "DROP TABLE amendment"]
    old += ["ALTER TABLE trial DROP COLUMN process"] * (version == 1)
    with closing(sqlite3.connect(results / "ledger.sqlite")) as ledger:
        for statement in old:
            ledger.execute(statement)
        ledger.execute("DELETE FROM meta WHERE key LIKE 'chain%'")
        ledger.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(version),))
        ledger.commit()
    assert check(results) == ChainCheck(None)
    Ledger.open(results / "ledger.sqlite").close()
    found = check(results)
    assert (found.broken, found.later, found.files) == (None, 9, 0)
    edit(results, "UPDATE trial SET reason = 'x' WHERE number = 4 AND attempt = 2")
    assert broken(results).startswith("trial 4.2 (")


def test_a_ledger_that_ends_gigabytes_before_its_file_does_is_read(results):
    os.truncate(results / "ledger.sqlite", 5 << 30)  # a hole, which takes no room
    assert check(results).broken is None
