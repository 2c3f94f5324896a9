"""Temporary folders of a runner that is killed: none is left, and what they are of works the next time."""

import os
import subprocess
import sys
import time

import pytest
from tests.system.ns3 import needs_ns3

CHECK_OUT = """
import sys, time
from pathlib import Path
from trialwise.execution.checkouts import checked_out, commit_of
here = Path(sys.argv[1])
commit = commit_of("HEAD", here)
with checked_out({"base": commit, "head": commit}, here) as place:
    print(place, (place / "head" / "file").read_text(), flush=True)
    time.sleep(float(sys.argv[2]))
"""
NS3 = """
from trialwise.trials.ns3.process import Ns3Process
Ns3Process().simulate({})
"""
ARCHIVE = """
import io, sys, tarfile, time
from pathlib import Path
from trialwise.exchange.pantheon_archive import with_unpacked
def read(folder):
    print(*(file.name for file in folder.iterdir()), flush=True)
    time.sleep(60)
path = Path(sys.argv[1], "results.tar")
with tarfile.open(path, "w") as tar:
    member = tarfile.TarInfo("folder/pantheon_metadata.json")
    member.size = 2
    tar.addfile(member, io.BytesIO(b"{}"))
with_unpacked(path, read)
"""
FRAME = """
import time
import polars
import trialwise
data = trialwise.load(polars.DataFrame({"v": [1.0, 2.0, 3.0, 4.0]}))
print("loaded", flush=True)
time.sleep(60)
"""
COPY = """
import sqlite3, sys, time
from pathlib import Path
from trialwise.store import connection
path = Path(sys.argv[1], "ledger.sqlite")
sqlite3.connect(path).execute("CREATE TABLE t (x)")
def opened(*_):
    print("copied", flush=True)
    time.sleep(60)
connection.connect = opened
connection.copy_in_memory(path)
"""


@pytest.fixture
def temporary(tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for name in ("AUTHOR", "COMMITTER"):
        own |= {f"GIT_{name}_NAME": "somebody", f"GIT_{name}_EMAIL": "somebody@example.org"}
    (folder / "file").write_text("text")
    for words in (["init", "--quiet"], ["add", "file"], ["commit", "--quiet", "-m", "file"]):
        subprocess.run(["git", *words], cwd=folder, env=dict(os.environ, **own), check=True)
    return folder


def started(program, temporary, *words):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        env=dict(os.environ, TMPDIR=str(temporary)),
        stdout=subprocess.PIPE,
        text=True,
    )


def wait_until(is_so):
    deadline = time.monotonic() + 30
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert is_so()


def test_checkouts_of_a_killed_runner_vanish_and_the_next_ones_have_their_place(repository, temporary):
    with started(CHECK_OUT, temporary, repository, 60) as first:
        place = first.stdout.readline()
        with started(CHECK_OUT, temporary, repository, 0) as beside:
            other = beside.stdout.read()
        assert other.split()[0] != place.split()[0], "it is taken"
        assert [str(path) for path in temporary.iterdir()] == place.split()[:1]
        first.kill()
    wait_until(lambda: not list(temporary.iterdir()))
    with started(CHECK_OUT, temporary, repository, 0) as again:
        assert again.stdout.read() == place
    wait_until(lambda: not list(temporary.iterdir()))


@needs_ns3
def test_the_folder_of_ns_3_vanishes_with_a_killed_runner(temporary):
    with started(NS3, temporary) as run:
        wait_until(lambda: len(list(temporary.glob("trialwise-ns3-*/*"))) > 1)
        run.kill()
    wait_until(lambda: not list(temporary.iterdir()))


@pytest.mark.parametrize("program", [ARCHIVE, FRAME, COPY], ids=["archive", "frame", "ledger"])
def test_what_a_killed_reader_had_unpacked_or_copied_vanishes(program, temporary, tmp_path):
    with started(program, temporary, tmp_path) as run:
        assert run.stdout.readline()
        assert list(temporary.glob("trialwise-*/*"))
        run.kill()
    wait_until(lambda: not list(temporary.iterdir()))
