"""A file of no known format is described, and what is proposed works when it is pasted."""

import json
import re
import shlex
from pathlib import Path

import pytest

from trialwise.readers.content import Content, read_content
from trialwise.readers.unknown import unknown


def error(data):
    return unknown(Content(Path("x"), data))


def test_json_is_told_by_its_keys_and_numbers():
    said = error(json.dumps({"runs": [{"rtt/ms": 4.25, "ok": True}], "n": 3}).encode())
    assert (
        said.message
        == "x: no format that is known: JSON, an object with runs, n; numbers: /n = 3, /runs/0/rtt~1ms = 4.25"
    )
    assert 'json = "/n"' in said.hint


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\n", "it is empty"),
        (b'{"results": [{"command": "a", "ti', "JSON that ends before its first result"),
    ],
)
def test_files_of_programs_that_were_stopped_say_what_is_missing(data, what):
    assert what in error(data).message


def test_a_number_in_text_is_found_by_the_command_that_is_proposed(tmp_path, trialwise):
    path = tmp_path / "a file.txt"
    path.write_text("Result\n  total (all): 4.25 ms\n")
    said = unknown(read_content(path))
    assert "'total (all): 4.25 ms'" in said.message
    words = shlex.split(re.search(r"trialwise (new .*?); or", said.hint)[1])
    code, _, err = trialwise(*words[:1], tmp_path / words[1], *words[2:])
    assert (code, err) == (0, "")
    assert re.search(words[-1].removeprefix("value="), path.read_text())[1] == "4.25"


def test_columns_of_blanks_are_analysed_as_proposed(tmp_path, trialwise):
    path = tmp_path / "columns.txt"
    path.write_text("".join(f"a{place} {place}.5\n" for place in range(30)))
    words = shlex.split(re.search(r"trialwise (analyze .*?); or", unknown(read_content(path)).hint)[1])
    code, out, _ = trialwise(*words)
    assert code == 0
    assert "30 trials" in out


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\1", b"{", b"<x/>", b"\n\n", b'{"a": {}}', b"[]", b'["\x1b[31m"]', b'{"\\u001b[31m": 1}', b"\x1b[31m 4 \n",
     b'{"a": ' * 150 + b"1" + b"}" * 150, b"[" + b"1," * 50_000 + b"1]", b"9" * 10_000, b'{"a": 1' + b"0" * 400 + b"}"],
)  # fmt: skip
def test_anything_is_told_in_a_line_without_escapes(data):
    said = error(data)
    for text in (said.message, said.hint or ""):
        assert "\x1b" not in text
        assert "\n" not in text
        assert len(text) < 1000
