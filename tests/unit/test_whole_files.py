"""Files of one set replace those of another: a process that is killed at any instant leaves parts of one set only."""

import subprocess
import sys
from pathlib import Path

import pytest

from trialwise.errors import StoreError
from trialwise.whole_files import whole_file, whole_files

NAMES = ("runs.samples.csv", "runs.samples.parquet", "runs.csv", "runs.parquet")
KILLED_AT_EACH_CHANGE = """
import os, signal, sys
from pathlib import Path
from trialwise.whole_files import whole_files
changes = 0
def count(event, _):
    global changes
    if event in ("open", "os.rename", "os.remove"):
        changes += 1
        if changes > last:
            os.kill(os.getpid(), signal.SIGKILL)
for last in range(100):
    folder = Path(sys.argv[1], str(last))
    folder.mkdir()
    for name in sys.argv[2:]:
        (folder / name).write_text("old")
    if not (child := os.fork()):
        sys.addaudithook(count)
        with whole_files([folder / name for name in sys.argv[2:]]) as asides:
            for aside in asides:
                aside.write_text("new")
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


def test_a_kill_at_any_change_leaves_parts_of_one_set(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED_AT_EACH_CHANGE, str(tmp_path), *NAMES], check=True)
    kills = sorted(tmp_path.iterdir(), key=lambda folder: int(folder.name))
    seen: list[tuple[str, ...]] = []
    for folder in kills:
        there = {path.name: path.read_text() for path in folder.iterdir() if not path.name.startswith(".")}
        assert len(set(there.values())) <= 1, there
        assert NAMES[-1] not in there or there.keys() == set(NAMES)
        seen.append(tuple(there.values()))
    assert seen[0] == ("old",) * 4
    assert seen[-1] == ("new",) * 4
    assert len(kills) > 3 * len(NAMES)


def write_two_of(paths: list[Path]) -> None:
    with whole_files(paths) as asides:
        asides[0].write_text("new")
        asides[2].mkdir()
        asides[2].write_text("new")


def test_an_error_while_they_are_written_leaves_what_was_there(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in NAMES]
    for path in paths:
        path.write_text("old")
    with pytest.raises(StoreError, match=r"runs\.csv: cannot be written"):
        write_two_of(paths)
    assert [path.read_text() for path in paths] == ["old"] * 4


def test_a_pipe_that_a_process_writes_to_gets_the_content() -> None:
    words = "from pathlib import Path; from trialwise.whole_files import whole_file\n"
    words += "with whole_file(Path('/dev/stdout')) as file: file.write_text('new')"
    done = subprocess.run([sys.executable, "-c", words], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("new", "")


HOLDING = """
import sys
from pathlib import Path
from trialwise.whole_files import whole_file
with whole_file(Path(sys.argv[1])) as aside:
    aside.write_text("half")
    print("half", flush=True)
    sys.stdin.read()
"""


def holding(path: Path) -> subprocess.Popen[str]:
    """Start a process that has written half of a file."""
    words = [sys.executable, "-c", HOLDING, str(path)]
    found = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert found.stdout is not None
    assert found.stdout.readline() == "half\n"
    return found


def test_the_next_writer_takes_away_what_a_killed_one_left_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    others = {".runs.tmp-x.csv", ".runs.tmp-1.parquet", ".other.tmp-1.csv"}
    for name in others:
        (tmp_path / name).write_text("mine")
    with holding(path) as killed:
        killed.kill()
    with holding(path) as alive:
        left = {found.name for found in tmp_path.iterdir()}
        assert left == others | {f".runs.tmp-{alive.pid}.csv"}
        with whole_file(path) as aside:
            aside.write_text("new")
        assert {found.name for found in tmp_path.iterdir()} == left | {"runs.csv"}
        assert path.read_text() == "new"
        alive.communicate("")
    assert {found.name for found in tmp_path.iterdir()} == others | {"runs.csv"}
    assert path.read_text() == "half"
