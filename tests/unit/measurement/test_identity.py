"""The record of what was measured, how two of them compare, and what trials inherit."""

import dataclasses
import json
import os
import struct
from pathlib import Path

import pytest

from trialwise.measurement.followed import seen
from trialwise.measurement.identity import FileIdentity, Identity, told
from trialwise.measurement.inherited import cpu_text, variables

PROG = FileIdentity("prog", "/home/prog", "a" * 64, 10)
FIRST = Identity(
    {"kernel_release": "6.1", "machine": "m"}, (PROG,), {"A": "1"}, {"limit_nofile": "1024"}, None
)


def document(identity: Identity) -> dict:
    record = {
        "executables": [dataclasses.asdict(each) for each in identity.files],
        "fingerprint": identity.to_json(),
    }
    return json.loads(json.dumps(record))


def test_a_record_is_read_as_it_was_written():
    assert Identity.from_json(document(FIRST)) == FIRST
    assert Identity.from_json(document(FIRST)).digest == FIRST.digest


@pytest.mark.parametrize(
    "broken", [{}, {"fingerprint": 1}, {"fingerprint": {}}, {"fingerprint": {}, "executables": [1]}]
)
def test_a_broken_record_is_said_to_be_one(broken: dict):
    with pytest.raises(ValueError, match="no identity"):
        Identity.from_json(broken)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, None),
        ({"files": (dataclasses.replace(PROG, sha256="b" * 64),)}, "prog is another"),
        ({"files": ()}, "prog is gone"),
        ({"files": (dataclasses.replace(PROG, name="x/prog", sha256="b" * 64),)}, "prog: prog → x/prog"),
        ({"files": (PROG, FileIdentity("more", "/m", "c" * 64, 1))}, None),
        ({"files": (dataclasses.replace(PROG, path="/elsewhere/prog"),)}, None),
        ({"environment": {"A": "2"}}, "A: 1 → 2"),
        ({"environment": {}}, "A is not set now"),
        ({"environment": {"A": "1", "B": "\x1b[2J"}}, "B is set now"),
        ({"environment": {"A": "x" * 100}}, "A is another"),
        ({"environment": None}, None),
        ({"limits": {"limit_nofile": "64"}}, "limit nofile: 1024 → 64"),
        ({"machine": {"kernel_release": "6.2", "machine": "m", "governor": "new"}}, "kernel release: 6.1 → 6.2"),
        ({"volatile": ("prog",), "files": ()}, None),
    ],
)  # fmt: skip
def test_a_difference_is_told_in_a_few_words(changed: dict, said: str | None):
    assert told(dataclasses.replace(FIRST, **changed).changes(FIRST)) == said


def test_where_trials_are_computed_content_and_build_count():
    first = dataclasses.replace(FIRST, build={"code": "1"})
    elsewhere = dataclasses.replace(
        first, environment={}, machine={}, files=(dataclasses.replace(PROG, name="y", path="/y"),)
    )
    assert elsewhere.changes(first, "computed") == ()
    assert told(dataclasses.replace(first, build={"code": "2"}).changes(first, "computed")) == "code: 1 → 2"
    assert dataclasses.replace(first, build={"code": "2"}).changes(FIRST, "computed") == ()


def test_secrets_are_hidden_and_compare():
    given = {
        "API_TOKEN": "one",
        "URL": "postgres://me:pass@host",
        "SSH_TTY": "x",
        "PLAIN": "text",
        "OWN": "1",
    }
    found = variables(given, ["OWN"], b"key")
    assert sorted(found) == ["API_TOKEN", "PLAIN", "URL"]
    assert found["PLAIN"] == "text"
    assert "pass" not in str(found)
    assert found == variables(given, ["OWN"], b"key")
    assert found["API_TOKEN"] != variables(given | {"API_TOKEN": "two"}, [], b"key")["API_TOKEN"]
    assert found["API_TOKEN"] != variables(given, [], b"another machine")["API_TOKEN"]


def test_processors_are_written_as_the_kernel_does():
    assert cpu_text([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"


def record(kind: bytes, content: bytes) -> bytes:
    return struct.pack("=cxxxI", kind, len(content)) + content


def execution(*parts: Path | str) -> bytes:
    return record(b"E", b"".join(os.fsencode(part) + b"\0" for part in parts))


def test_notes_of_the_supervisor_name_files(tmp_path: Path):
    for name in ("prog", "in.txt", "lib.so.1", "scratch/made"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    notes = execution(tmp_path / "prog", tmp_path, tmp_path / "in.txt", "./prog", "x=scratch/made")
    notes += record(b"M", os.fsencode(tmp_path / "lib.so.1")) + record(b"M", b"/gone (deleted)")
    notes += record(b"S", struct.pack("=qq", 3, 0))
    found = seen(notes + b"E\0\0", {}, str(tmp_path / "scratch"), 1 << 62)
    names = {file.path.relative_to(tmp_path).as_posix(): file.role for file in found.files}
    assert names == {"prog": "program", "in.txt": "input", "lib.so.1": "library"}
    assert (found.stops, found.problem) == (3, None)
    written = seen(notes, {}, None, 0)
    assert "in.txt" not in {file.path.name for file in written.files}


def test_notes_say_why_nothing_was_seen():
    found = seen(record(b"S", struct.pack("=qq", 0, 1)), {}, None, 0)
    assert (found.files, found.problem) == ([], os.strerror(1))


DAMAGED = [
    b"",
    b"E",
    b"E\0\0\0\xff\xff\xff\xff",
    record(b"E", b""),
    record(b"E", b"a\0b"),
    record(b"S", b"1"),
]


@pytest.mark.parametrize("notes", DAMAGED)
def test_notes_that_are_damaged_are_no_error(notes: bytes):
    assert seen(notes, {}, None, 0).files == []
