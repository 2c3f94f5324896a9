"""Of a file that outlives a trial, what this trial wrote counts: every reader, every way of writing, here and on a worker."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_worker import Worker
from trialwise.errors import TrialError
from trialwise.execution.workers import tasks
from trialwise.experiment.sources import TextSource
from trialwise.measurement import outliving
from trialwise.measurement.outliving import Watched, Written
from trialwise.measurement.reported import from_file
from trialwise.measurement.sources import read_source

Run = Callable[[str], Written]
"""Run a shell script in the folder as a trial; give what it wrote to the file `out` there."""

SOURCES = {
    "pattern": TextSource(path="out", pattern=r"([0-9.]+)\s*\Z"),
    "csv": TextSource(path="out", csv="lat"),
    "lines": TextSource(path="out", json="/lat"),
    "json": TextSource(path="out", json="/runs"),
}
HEAD = {"pattern": "", "csv": "lat\n", "lines": "", "json": ""}


def rows(reader: str, *values: float) -> str:
    if reader == "lines":
        return "".join(f'{{"lat": {value}}}\n' for value in values)
    if reader == "json":
        return f'{{"runs": [{", ".join(map(str, values))}]}}\n'
    return "".join(f"{value}\n" for value in values)


def whole(reader: str, *values: float) -> str:
    return HEAD[reader] + rows(reader, *values)


def here(folder: Path, script: str) -> Written:
    with contextlib.closing(Watched(str(folder / "out"))) as watched:
        subprocess.run(["sh", "-c", script], cwd=folder, check=True)
        return watched.written()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return functools.partial(here, tmp_path)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def read(reader: str, written: Written) -> list[float] | str:
    try:
        return list(read_source(SOURCES[reader], from_file("out", written, here=False)).values)
    except TrialError as error:
        return error.message


def write(text: str, how: str = ">", name: str = "out") -> str:
    quoted = text.replace("\n", "\\n").replace('"', '\\"')
    return f'printf "{quoted}" {how} {name}'


READERS = pytest.mark.parametrize("reader", ["pattern", "csv", "lines", "json"])
ONE_EACH = ["pattern", "csv", "lines"]


@READERS
def test_what_was_not_there_before(run: Run, reader: str):
    assert read(reader, run(write(whole(reader, 7)))) == [7]


@READERS
def test_what_was_added_counts_alone(run: Run, out: Path, reader: str):
    run(write(whole(reader, 5)))
    assert read(reader, run(write(rows(reader, 7), ">>"))) == [7]
    assert read(reader, run(write(rows(reader, 5), ">>"))) == [5]  # as what stands at the beginning


def test_a_heading_that_is_repeated_begins_the_rows_that_were_added(run: Run):
    run(write("lat,n\n5,1\n"))
    assert read("csv", run(write("n,lat\n2,7\n3,8\n", ">>"))) == [7, 8]
    assert read("csv", run(write("lat,n\n9,4\n", ">>"))) == [9]


def test_rows_are_added_to_a_heading_that_stood_there(run: Run, out: Path):
    out.write_text("lat\r\n")
    assert read("csv", run("printf '7\\r\\n' >> out")) == [7]


def test_a_row_of_a_killed_trial_joins_no_row_of_the_next(run: Run, out: Path):
    out.write_text("lat\n1")
    assert read("csv", run("echo 23 >> out")) == [23]


@READERS
@pytest.mark.parametrize("blank", ["\\n", " ", "\\t\\t\\n", "\\r\\n\\r\\n"])
def test_white_space_that_was_added_is_no_number(run: Run, reader: str, blank: str):
    run(write(whole(reader, 5)))
    assert "what this trial added to" in read(reader, run(f"printf '{blank}' >> out"))


@READERS
@pytest.mark.parametrize("script", ["true", "cat out", ": >> out", "chmod 600 out", "mv out x; mv x out"])
def test_what_was_not_written(run: Run, reader: str, script: str):
    run(write(whole(reader, 5)))
    assert "was not written by this trial" in read(reader, run(script))


@READERS
def test_what_was_only_touched(run: Run, reader: str):
    run(write(whole(reader, 5)))
    time.sleep(0.02)
    assert "only its time was changed" in read(reader, run("touch out"))


@READERS
@pytest.mark.parametrize("way", ["{}", "{}; touch -d @1000 out", "rm out; {}", "{} ; mv out x; mv x out"])
def test_the_same_number_written_again_is_a_number_of_this_trial(run: Run, reader: str, way: str):
    """Deterministic programs write what they wrote before."""
    run(write(whole(reader, 5)))
    assert read(reader, run(way.format(write(whole(reader, 5))))) == [5]


@READERS
def test_a_file_moved_into_place_with_the_same_number(run: Run, reader: str):
    run(write(whole(reader, 5)))
    assert read(reader, run(write(whole(reader, 5), name="x") + "; mv x out")) == [5]
    assert read(reader, run(write(whole(reader, 6), name="x") + "; touch -d @1000 x; mv x out")) == [6]


@READERS
def test_what_was_cut_and_written_anew(run: Run, reader: str):
    run(write(whole(reader, 500)))
    assert read(reader, run(write(whole(reader, 7)))) == [7]
    assert read(reader, run(write(whole(reader, 8)))) == [8]  # as long as before
    assert read(reader, run(f": > out; {write(whole(reader, 1234567))}")) == [1234567]


@READERS
def test_a_file_that_was_removed(run: Run, reader: str):
    run(write(whole(reader, 5)))
    assert "it was there before, and is gone" in read(reader, run("rm out"))


@pytest.mark.parametrize("reader", ONE_EACH)
def test_a_replacement_that_carries_on_what_stood_there_is_refused(run: Run, reader: str):
    """The program read the old rows and wrote all of them with its own, or computed more rows than the trial before."""
    run(write(whole(reader, 5)))
    both = f"{{ cat out; {write(rows(reader, 7), '')} ; }} > x"
    assert "cannot be told" in read(reader, run(f"{both}; mv x out"))
    assert "cannot be told" in read(reader, run(f"{both}; cat x > out"))  # the same file, cut to nothing


@pytest.mark.parametrize("reader", ONE_EACH)
def test_adding_is_told_from_cutting_in_files_of_any_length(run: Run, out: Path, reader: str):
    for length in (1, 5000):
        out.write_text(HEAD[reader] + rows(reader, *range(length)))
        assert read(reader, run(write(rows(reader, 7), ">>"))) == [7]
        assert "cannot be told" in read(
            reader, run(f"cp out x; {write(rows(reader, 8), '>>', 'x')}; cat x > out")
        )


@pytest.mark.parametrize(("before", "after"), [((5,), (5, 7)), ((5, 6), (5, 6, 7)), ((5, 6), (7, 5, 6))])
@pytest.mark.parametrize("way", ["{}", "rm out; {}"])
def test_a_document_that_keeps_the_samples_of_the_trials_before_is_refused(
    run: Run, before: tuple[float, ...], after: tuple[float, ...], way: str
):
    run(write(whole("json", *before)))
    said = read("json", run(way.format(write(whole("json", *after)))))
    assert f"the {len(before)} samples that stood there before" in said


def test_a_document_with_other_samples_is_of_this_trial_whatever_their_number(run: Run):
    run(write(whole("json", 5, 6)))
    assert read("json", run(write(whole("json", 6, 5, 7)))) == [6, 5, 7]
    assert read("json", run(write(whole("json", 6)))) == [6]


@READERS
def test_a_link_is_followed_to_what_this_trial_wrote(run: Run, out: Path, reader: str):
    (out.parent / "first").write_text(whole(reader, 5))
    (out.parent / "second").write_text(whole(reader, 6))
    out.symlink_to("first")
    time.sleep(0.05)
    assert "was not written by this trial" in read(reader, run("ln -sfn second out"))
    assert read(reader, run(write(whole(reader, 7), name="third") + "; ln -sfn third out")) == [7]
    assert read(reader, run(write(rows(reader, 8), ">>", "third"))) == [8]


@pytest.mark.parametrize("reader", ONE_EACH)
def test_what_was_written_between_two_trials_is_of_neither(run: Run, out: Path, reader: str):
    run(write(whole(reader, 5)))
    with out.open("a") as late:
        late.write(rows(reader, 99))
    assert read(reader, run(write(rows(reader, 7), ">>"))) == [7]
    with out.open("a") as late:
        late.write(rows(reader, 99))
    assert "was not written by this trial" in read(reader, run("true"))


@pytest.mark.parametrize("supervised", [True, False])
def test_a_worker_tells_the_same(tmp_path: Path, supervised: bool):
    """In one folder the trials run here, in the other on a worker: the same counts, and reasons are the same."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir(mode=0o700)
        (folder / "old").write_text("lat\n3\n")
    time.sleep(0.05)
    worker = Worker(theirs, supervised=supervised)
    connection = worker.attach()
    scripts = [
        "printf 'lat\\n5\\n' > out", "echo 7 >> out", "echo >> out", "true", "sleep 0.02; touch out", "printf 'lat\\n9\\n' > out",
        "printf 'lat\\n9\\n' > out", "printf 'lat\\n9\\n8\\n' > x; mv x out", "rm out", "ln -s old out", "echo 4 >> out",
    ]  # fmt: skip
    for number, script in enumerate(scripts):
        reply = worker.run(connection, f"{number}.1", script, files=[str(theirs / "out")])
        there = tasks._contents(reply.head, reply.body)[1][str(theirs / "out")]
        assert told(there, theirs) == told(here(ours, script), ours), script
    connection.close()


def told(written: Written, folder: Path) -> list[object]:
    reason = re.sub(r"\d\d:\d\d:\d\d", "TIME", str(written.problem).replace(str(folder), "FOLDER"))
    return [written.data, written.added, written.heading, written.before, reason, written.hint]


def test_long_files_are_told_apart_by_their_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(outliving, "KEPT", 1000)
    path = tmp_path / "out"
    path.write_text("lat\n" + "1\n" * 5000)

    def after(script: Callable[[], object]) -> Written:
        with contextlib.closing(Watched(str(path))) as watched:
            script()
            return watched.written()

    def add() -> None:
        with path.open("a") as file:
            file.write("2\n")

    assert read("csv", after(add)) == [2]
    assert len(read("csv", after(lambda: path.write_text("lat\n" + "1\n" * 5000 + "3\n")))) == 5001
    assert "was not written" in read("csv", after(lambda: os.utime(path)))


def test_where_the_kernel_watches_nothing_a_number_that_may_be_stale_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(outliving, "_modifications", lambda _: None)
    path = tmp_path / "out"
    path.write_text("5\n")
    with contextlib.closing(Watched(str(path))) as watched:
        path.write_text("5\n")
        assert watched.written().problem is not None
    with contextlib.closing(Watched(str(path))) as watched:
        path.write_text("6\n")
        assert watched.written().data == b"6\n"


def test_nothing_stays_open(tmp_path: Path):
    (tmp_path / "out").write_text("5\n")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        with contextlib.closing(Watched(str(tmp_path / "out"))) as watched:
            watched.written()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
