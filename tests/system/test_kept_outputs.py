"""What trials printed and wrote is read again, and compared with the ledger: of a stranger's files, within limits."""

import gzip
import shutil

import pytest

import artifacts
from in_process import trialwise
from trialwise.study.artifact.kept_outputs import kept_outputs

TEXT = (
    artifacts.TEXT.replace("[metrics.steps]", 'keep = ["out.csv"]\n[metrics.steps]').replace(
        "rounds = 5", "rounds = 3"
    )
    + """
[metrics.delay]
file = "out.csv"
csv = "delay"
time = "at"
unit = "ms"
better = "lower"
[metrics.parts]
json = "/parts"
unit = "1"
better = "lower"
"""
)
PROGRAM = """#!/bin/sh
echo "{\\"steps\\": $(($1 * 100 + $2)), \\"parts\\": [$1, $2, 7]}"
printf 'at,delay\\n0,%d\\n1,%d.1\\n' $1 $2 > out.csv
"""
NUMBERS = 3 * 6
"""Three metrics of six trials."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return artifacts.measured(tmp_path_factory.mktemp("bench") / "work", TEXT, program=PROGRAM)


@pytest.fixture
def copy(bench, tmp_path):
    return shutil.copytree(bench / "sums.results", tmp_path / "sums.results")


def swap(one, other):
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def test_what_was_kept_gives_the_numbers_of_the_ledger_unless_files_are_swapped(copy):
    found = kept_outputs(copy)
    assert (found.total, found.agree, found.differ, found.uncompared) == (NUMBERS, NUMBERS, 0, {})
    swap(copy / "outputs/000001-1.files.tar.gz", copy / "outputs/000002-1.files.tar.gz")
    found = kept_outputs(copy)
    assert (found.agree, found.differ, found.not_reached) == (NUMBERS - 2, 2, 0)
    first, second = found.differences
    assert first.endswith("delay is 2 samples in the ledger, and other 2 samples in what was kept")
    assert (first.partition(" (")[0], second.partition(" (")[0]) == ("trial 1.1", "trial 2.1")


def test_what_a_stranger_would_refuse_is_not_packed(bench, tmp_path):
    place = shutil.copytree(bench, tmp_path / "work")
    swap(*(place / f"sums.results/outputs/00000{at}-1.files.tar.gz" for at in (1, 2)))
    done = trialwise("pack", "sums.results", "--licence", "CC-BY-4.0", cwd=place)
    assert done.returncode == 5
    assert "does not verify: trial 1.1 (" in done.stderr
    assert not (place / "artifact.zip").exists()


def test_outputs_that_are_gone_or_damaged_are_told_and_contradict_nothing(copy):
    (copy / "outputs/000001-1.stdout.gz").unlink()
    (copy / "outputs/000003-1.stdout.gz").write_bytes(b"no archive")
    found = kept_outputs(copy)
    assert (found.agree, found.differ) == (NUMBERS - 4, 0)
    assert found.uncompared == {"the output was not kept, so it cannot be read again": "1, 3"}


def test_a_masked_secret_contradicts_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TOKEN", "t-4711")
    every = "stdout = '\\b([0-9]+)\\b'\nmatches = \"all\""
    text = artifacts.TEXT.replace('json = "/steps"', every).replace(
        "[metrics.steps]", 'secret = ["TOKEN"]\n[metrics.steps]'
    )
    folder = artifacts.measured(tmp_path / "work", text, program="#!/bin/sh\necho $1 $TOKEN\n")
    found = kept_outputs(folder / "sums.results")
    assert b"[secret TOKEN]" in gzip.decompress(
        (folder / "sums.results/outputs/000001-1.stdout.gz").read_bytes()
    )
    assert (found.total, found.agree, found.differ) == (10, 10, 0)


def test_a_module_in_the_current_folder_is_not_run(copy, monkeypatch):
    monkeypatch.chdir(copy)
    (copy / "json.py").write_text("open('ran', 'w')\nraise SystemExit\n")
    assert kept_outputs(copy).agree == NUMBERS
    assert not (copy / "ran").exists()


def test_a_pattern_that_never_ends_is_ended(tmp_path):
    text = artifacts.TEXT.replace('json = "/steps"', "stdout = '((?:[0-9]+,?)+)!'")
    folder = artifacts.measured(tmp_path / "work", text, program="#!/bin/sh\necho $1!\n")
    (folder / "sums.results/outputs/000004-1.stdout.gz").write_bytes(gzip.compress(b"1" * 60))
    found = kept_outputs(folder / "sums.results", seconds=2)
    assert (found.agree, found.differ, found.not_reached) == (3, 0, 7)


def test_a_file_that_takes_more_memory_than_is_allowed_is_told(copy):
    (copy / "outputs/000002-1.files.tar.gz").write_bytes(gzip.compress(bytes(300 << 20), compresslevel=1))
    found = kept_outputs(copy, memory=1000 << 20, patience=60.0)
    assert found.differ == 0
    assert "it takes more memory than is allowed" in found.uncompared or found.not_reached
