"""An import that is killed at any instant leaves a whole directory or none, and the next one succeeds."""

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trialwise import asides
from trialwise.errors import TrialwiseError
from trialwise.exchange.imported import imported_results, write_import
from trialwise.store.directory import is_imported
from trialwise.study.importing import gain

TRIALWISE = [sys.executable, "-c", "from trialwise.cli.main import main; main()"]
MOST = 30.0
"""Seconds that an import may take to write something."""


@pytest.fixture
def source(tmp_path):
    """A small file."""
    draw = random.Random(1)
    results = [
        {
            "command": f"c{place}",
            "times": [draw.random() for _ in range(5)],
            "exit_codes": [0] * 5,
            "mean": 0.5,
        }
        for place in range(20)
    ]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps({"results": results}))
    return path


def values(directory):
    return imported_results(directory, "x").trials.table.sort("trial", "metric")["value"].to_list()


def killed_at(words, folder: Path, delay: float):
    """Start an import, wait for its first file below the folder or its end, and kill it after a delay."""
    there = set(folder.iterdir())
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + MOST
    while running.poll() is None and set(folder.iterdir()) == there and time.monotonic() < end:
        time.sleep(0.0005)
    time.sleep(delay)
    running.send_signal(signal.SIGKILL)
    return running.wait()


def ran_for(words, seconds: float | None):
    """Run an import, and kill it after so long; None lets it end. Return its code, and how long it ran."""
    began = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            running.wait(seconds)
        except subprocess.TimeoutExpired:
            running.kill()
    return running.returncode, time.monotonic() - began


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.soak)])
def test_a_kill_before_it_ends_leaves_nothing_that_counts(source, tmp_path, kills):
    """Sources are left as they were, a directory or a table is whole or absent, and the same import goes through afterwards."""
    folder, results = tmp_path / "here", tmp_path / "results"
    folder.mkdir()
    results.mkdir()
    for number in range(60):
        (results / f"{number}.json").write_text(source.read_text().replace('"c1"', f'"of {number}"'))
    before = {path: path.stat().st_mtime_ns for path in results.iterdir()}
    words = [
        *TRIALWISE,
        "import",
        str(results),
        "-o",
        str(folder / "study"),
        "--csv",
        str(folder / "runs.csv"),
    ]
    code, span = ran_for(words, None)
    assert code == 0
    wanted, table = values(folder / "study"), (folder / "runs.csv").read_bytes()
    draw, ended = random.Random(3), []
    for _ in range(kills):
        shutil.rmtree(folder)
        folder.mkdir()
        ended.append(ran_for(words, draw.uniform(0.2, 0.9) * span)[0])
        for found in folder.iterdir():
            if found.name == "study":
                assert values(found) == wanted
            elif found.name == "runs.csv":
                assert found.read_bytes() == table
            else:
                assert found.name.startswith(".")
    assert -signal.SIGKILL in ended
    assert {path: path.stat().st_mtime_ns for path in results.iterdir()} == before
    assert ran_for(words, None)[0] == 0
    assert values(folder / "study") == wanted


@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.soak)])
def test_a_kill_leaves_all_or_nothing(source, tmp_path, kills):
    draw, ended = random.Random(2), []
    assert (
        subprocess.run([*TRIALWISE, "import", source, "-o", tmp_path / "whole"], check=False).returncode == 0
    )
    wanted = values(tmp_path / "whole")
    folder = tmp_path / "here"
    folder.mkdir()
    for number in range(kills):
        out = folder / f"study{number}"
        ended.append(
            killed_at([*TRIALWISE, "import", str(source), "-o", str(out)], folder, draw.uniform(0, 0.02))
        )
        for found in folder.iterdir():
            if found.name.startswith("."):
                check_left(found, wanted)
            else:
                assert values(found) == wanted
    assert -signal.SIGKILL in ended
    out = folder / "study0"
    assert subprocess.run([*TRIALWISE, "import", source, "-o", out], check=False).returncode == 0
    assert values(out) == wanted


def check_left(folder, wanted):
    """What a kill left beside the directory is no import, or a whole one."""
    if not is_imported(folder):
        return
    try:
        assert values(folder) == wanted
    except TrialwiseError:
        return


def test_samples_of_an_earlier_table_do_not_stay_beside_a_new_one(source, tmp_path):
    table, samples = tmp_path / "runs.csv", tmp_path / "runs.samples.csv"
    samples.write_text("of an earlier table\n")
    assert subprocess.run([*TRIALWISE, "import", source, "--csv", table], check=False).returncode == 0
    assert table.read_text().count("\n") == 101
    assert len(samples.read_text().splitlines()) == 1


def test_what_cannot_be_imported_leaves_the_table_as_it_was(source, tmp_path):
    table, other = tmp_path / "runs.csv", tmp_path / "other"
    table.write_text("of another import\n")
    other.mkdir()
    words = [*TRIALWISE, "import", source, "-o", other, "--csv", table]
    assert subprocess.run(words, check=False, stderr=subprocess.DEVNULL).returncode == 5
    assert table.read_text() == "of another import\n"


MEANWHILE = """
import subprocess, sys
from pathlib import Path
from trialwise.cli.main import main
other = sys.argv.pop()
def another(event, told):
    global other
    if event == "os.rename" and str(told[1]).endswith("study") and other:
        words, other = [sys.executable, "-c", "from trialwise.cli.main import main; main()", "import", other, *sys.argv[3:]], ""
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
sys.addaudithook(another)
main()
"""


@pytest.mark.parametrize(("is_same", "code"), [(True, 0), (False, 5)])
def test_another_import_at_the_last_moment_is_told_from_this_one(source, tmp_path, is_same, code):
    other = source if is_same else tmp_path / "other.json"
    other.write_text(source.read_text() if is_same else source.read_text().replace('"c1"', '"other"'))
    folder = tmp_path / "here"
    folder.mkdir()
    words = [sys.executable, "-c", MEANWHILE, "import", source, "-o", folder / "study", other]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert [found.name for found in folder.iterdir()] == ["study"]
    assert imported_results(folder / "study", "x").trials.table.height == 100


KILLED = """
import os, signal, sys
from trialwise.cli.main import main
def kill(event, told):
    if event == "os.rename" and str(told[1]).endswith("study"):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(kill)
main()
"""


def test_the_next_import_takes_away_what_a_killed_one_left_and_nothing_else(source, tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    words = ["import", str(source), "-o", str(folder / "study")]
    assert subprocess.run([sys.executable, "-c", KILLED, *words], check=False).returncode == -signal.SIGKILL
    (left,) = folder.iterdir()
    assert left.name.startswith(".study.importing-")
    others = [".study.importing-x", ".study2.importing-1", ".study.importing-2.old", ".study.importing-3"]
    for name in others:
        (folder / name).mkdir()
    (folder / ".study.importing-4").symlink_to(tmp_path)
    held = os.open(folder / others[-1], os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        gained = gain([source])
        write_import(folder / "study", gained.group, gained.pattern, gained.gathered)
    finally:
        os.close(held)
    assert {found.name for found in folder.iterdir()} == {"study", ".study.importing-4", *others}
    assert source.exists()
    assert values(folder / "study")


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: asides.aside_folder(".a.importing-", folder),
        lambda folder: asides.aside_file(".a.tmp-", ".csv", folder),
    ],
)
def test_an_aside_that_was_taken_for_left_before_it_was_locked_is_made_again(tmp_path, monkeypatch, make):
    opened = asides.os.open

    def late(path, flags, *mode):
        if mode:  # it is made
            return opened(path, flags, *mode)
        monkeypatch.setattr(asides.os, "open", opened)
        descriptor = opened(path, flags)
        Path(path).rmdir() if Path(path).is_dir() else Path(path).unlink()
        return descriptor

    monkeypatch.setattr(asides.os, "open", late)
    with make(tmp_path) as aside:
        assert list(tmp_path.iterdir()) == [aside]
    assert not list(tmp_path.iterdir())
