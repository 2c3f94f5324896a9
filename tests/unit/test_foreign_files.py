"""Files that others made: nothing waits, nothing grows, nothing leads out of its folder."""

import gzip
import os
import socket
import subprocess
import threading

import pytest

from in_process import trialwise
from trialwise import foreign_files
from trialwise.errors import AnalysisError, StoreError
from trialwise.foreign_files import open_foreign, read_foreign, unpacked_gzip


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "theirs"
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "a.log").write_bytes(b"inside")
    (tmp_path / "outside.txt").write_bytes(b"outside")
    return folder


def test_a_file_is_read_whole(folder):
    path = folder / "logs" / "a.log"
    assert read_foreign(path, 6) == read_foreign(path, 6, within=folder) == b"inside"
    with open_foreign(path, within=folder) as file:
        assert file.read() == b"inside"
        assert os.get_blocking(file.fileno())


@pytest.mark.parametrize("read", [lambda path: read_foreign(path, 100), open_foreign])
@pytest.mark.parametrize("kind", ["fifo", "zero", "terminal", "folder", "socket", "none", "nul"])
def test_what_is_no_file_is_refused_at_once(tmp_path, read, kind):
    path = {"zero": "/dev/zero", "terminal": "/dev/ptmx", "nul": "a\0b"}.get(kind, str(tmp_path / kind))
    with socket.socket(socket.AF_UNIX) as bound:
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            os.mkdir(path)  # noqa: PTH102 a text
        elif kind == "socket":
            bound.bind(path)
        with pytest.raises(AnalysisError) as found:
            read(foreign_files.Path(path))
    assert path in found.value.message


def test_one_byte_too_many_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 42)
    with pytest.raises(StoreError, match=r"sparse: is larger than 0\.0009537 MiB"):
        read_foreign(path, 1000, error=StoreError)


@pytest.mark.parametrize("name", ["../outside.txt", "logs/../../outside.txt"])
def test_a_name_does_not_climb_out(folder, name):
    with pytest.raises(AnalysisError, match="lies outside"):
        read_foreign(folder / name, 100, within=folder)
    with pytest.raises(AnalysisError, match="lies outside"):
        read_foreign(folder.parent / "outside.txt", 100, within=folder)


@pytest.mark.parametrize("absolute", [True, False])
def test_a_link_is_not_followed_wherever_it_stands(folder, absolute):
    (folder / "file.log").symlink_to(folder.parent / "outside.txt" if absolute else "../outside.txt")
    (folder / "way").symlink_to(folder.parent if absolute else "..")
    for name in ("file.log", "way/outside.txt", "way/theirs/logs/a.log"):
        with pytest.raises(AnalysisError, match="is a link"):
            read_foreign(folder / name, 100, within=folder)
    assert read_foreign(folder / "file.log", 100) == b"outside"


def test_the_folder_itself_may_be_named_by_a_link(folder):
    (folder.parent / "link").symlink_to(folder)
    there = folder.parent / "link"
    assert read_foreign(there / "logs" / "a.log", 100, within=there) == b"inside"


def test_a_pipe_is_read_to_its_end_where_it_is_wanted(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with subprocess.Popen(
        ["sh", "-c", "sleep 0.2; echo one; sleep 0.2; echo two", "sh"], stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        name = foreign_files.Path(f"/dev/fd/{program.stdout.fileno()}")
        assert read_foreign(name, 100, pipe=True) == b"one\ntwo\n"
    writer = threading.Thread(target=path.write_bytes, args=(b"3" * 200_000,))
    writer.start()
    assert read_foreign(path, 200_000, pipe=True) == b"3" * 200_000
    writer.join()


def test_an_endless_pipe_is_bounded_and_a_silent_one_is_given_up(tmp_path, monkeypatch):
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        with pytest.raises(AnalysisError, match="larger than 1 MiB"):
            read_foreign(foreign_files.Path(f"/dev/fd/{program.stdout.fileno()}"), 1 << 20, pipe=True)
        program.kill()
    monkeypatch.setattr(foreign_files, "PATIENCE", 0.1)
    os.mkfifo(tmp_path / "silent")
    with pytest.raises(AnalysisError, match="nothing came out"):
        read_foreign(tmp_path / "silent", 100, pipe=True)


def test_descriptors_are_closed_whatever_happens(folder):
    (folder / "link").symlink_to("/")
    before = len(list(foreign_files.Path("/proc/self/fd").iterdir()))
    for name in ("logs", "link", "none", "logs/none", "logs/a.log/x", "../outside.txt"):
        with pytest.raises(AnalysisError):
            read_foreign(folder / name, 100, within=folder)
        with pytest.raises(AnalysisError):
            open_foreign(folder / name, within=folder)
    assert len(list(foreign_files.Path("/proc/self/fd").iterdir())) == before


def test_gzip_is_unpacked_up_to_a_bound(tmp_path):
    two = gzip.compress(b"a" * 50) + gzip.compress(b"b" * 50)
    assert unpacked_gzip(tmp_path, two, 100) == b"a" * 50 + b"b" * 50
    with pytest.raises(AnalysisError, match="holds more than"):
        unpacked_gzip(tmp_path, two, 99)
    bomb = gzip.compress(bytes(1 << 25))
    with pytest.raises(AnalysisError, match="holds more than 1 MiB"):
        unpacked_gzip(tmp_path, bomb, 1 << 20)


@pytest.mark.parametrize(
    "content",
    [b"\x1f\x8b", gzip.compress(b"a" * 500)[:-4], b"\x1f\x8b" + b"z" * 40],
    ids=["two bytes", "cut", "none"],  # names of tests must not hold the time, which compressed data do
)
def test_a_damaged_gzip_file_is_named(tmp_path, content):
    with pytest.raises(AnalysisError, match="is not a complete gzip file"):
        unpacked_gzip(tmp_path / "x.gz", content, 1000)


@pytest.mark.parametrize(
    "words",
    [
        ("analyze", "{}"), ("report", "{}"), ("order", "{}"), ("status", "{}"), ("run", "{}"), ("plan", "{}"), ("packets", "{}"),
        ("compare", "{}", "{}.csv"), ("trace", "show", "{}"), ("profile", "{}"), ("effects", "{}", "--group", "a"),
    ],
)  # fmt: skip
def test_every_command_says_of_a_url_that_it_is_none_of_its_files(tmp_path, words, monkeypatch):
    """Also in the line that says what takes long: with both slashes."""
    monkeypatch.setattr("trialwise.cli.spinner._PATIENCE", 0.0)
    done = trialwise(*(word.format("https://example.org/x") for word in words), cwd=tmp_path)
    assert "https://example.org/x: URLs are not read" in done.stderr
    assert "https:/e" not in done.stdout + done.stderr
