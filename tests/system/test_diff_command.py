"""`trialwise diff` on real directories: the second ran with another program, another name of the machine and fewer processors."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from in_process import trialwise

TEXT = """
[experiment]
name = "x"
[factors]
n = [1, 2]
[trial]
command = ["./work", "{n}"]
[metrics.time]
json = "/time"
[design]
rounds = 2
"""
PROGRAM = """#!/bin/sh
echo "{\\"time\\": $1.$(($$ % 90 + 10))}"
"""
RUN = "from trialwise.cli.main import main; main()"


def measured(folder, name, *before):
    words = [*before, sys.executable, "-c", RUN, "run", "e.toml", "--directory", name]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "e.toml").write_text(TEXT)
    (tmp_path / "work").write_text(PROGRAM)
    (tmp_path / "work").chmod(0o755)
    measured(tmp_path, "a")
    return tmp_path


def found(folder, *words):
    done = trialwise("diff", *words, "--json", cwd=folder)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_what_was_changed_is_found_with_its_rank_and_nothing_else_of_the_program(folder):
    (folder / "work").write_text(PROGRAM + "# another\n")
    one = str(min(os.sched_getaffinity(0)))
    other = ["unshare", "--uts", "sh", "-c", 'hostname other; exec "$@"', "sh", "taskset", "-c", one]
    measured(folder, "b", *other)
    code, document = found(folder, "a", "b")
    ranks = {each["name"]: each["rank"] for each in document["differences"]}
    assert code == 1
    assert {name: ranks.get(name) for name in ("program.work", "limit.cpus_allowed", "machine.hostname")} == {
        "program.work": 1,
        "limit.cpus_allowed": 6,
        "machine.hostname": 11,
    }
    assert [name for name, rank in ranks.items() if rank == 1] == ["program.work"]
    hostname = next(each for each in document["differences"] if each["name"] == "machine.hostname")
    assert hostname["b"] == ["other"]
    assert sum(document["results"]["verdicts"].values()) == 2
    text = trialwise("diff", "a", "b", cwd=folder).stdout
    assert text.splitlines()[0] == "a and b have 1 difference of ranks 1 to 3."


def test_this_machine_differs_from_its_own_directory_in_nothing_that_matters_until_the_program_changes(
    folder,
):
    code, document = found(folder, "a", "here")
    assert (code, [each for each in document["differences"] if each["rank"] <= 3]) == (0, [])
    (folder / "work").write_text(PROGRAM + "# another\n")
    code, document = found(folder, "here", "a")
    assert code == 1
    assert [each["name"] for each in document["differences"] if each["rank"] == 1] == ["program.work"]


@pytest.mark.parametrize("words", [("here", "here"), ("absent", "here"), (".", "here")])
def test_what_is_no_side_is_refused(tmp_path, words):
    done = trialwise("diff", *words, cwd=tmp_path)
    assert done.returncode == 7
    assert "try:" in done.stderr
