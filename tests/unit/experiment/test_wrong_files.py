"""What is said about files that are wrong: every message stands in `wrong_files.txt`, below the file it is about.

`TRIALWISE_UPDATE=1 pytest tests/unit/experiment` writes the messages anew; read the difference before it is committed.
"""

import os
import re
from pathlib import Path

import pytest

from trialwise.errors import PlanError
from trialwise.experiment.reading import MAX_FILE, parse_experiment, read_experiment

CASES = Path(__file__).with_name("wrong_files.txt")
REST = {
    "experiment": '[experiment]\nname = "x"\n',
    "trial": '[trial]\ncommand = "true"\n',
    "metrics": '[metrics.m]\nresource = "wall"\n',
}


def cases() -> dict[str, tuple[str, str]]:
    """Each case: its text, and the message that is expected."""
    found: dict[str, tuple[str, str]] = {}
    for block in CASES.read_text().split("=== ")[1:]:
        name, _, rest = block.partition("\n")
        text, _, message = rest.partition("--- says\n")
        found[name] = (text, message.rstrip("\n"))
    return found


def whole(text: str) -> str:
    """The text with the tables that every file has, where it has them not."""
    tables = (rest for name, rest in REST.items() if not re.search(rf"^\[?\[?{name}\b", text, re.MULTILINE))
    return text + "".join(tables) if text else text


def message(text: str) -> str:
    with pytest.raises(PlanError) as caught:
        parse_experiment(whole(text), Path("experiment.toml"))
    return str(caught.value)


@pytest.mark.skipif("TRIALWISE_UPDATE" not in os.environ, reason="writes the expected messages")
def test_update():
    blocks = (f"=== {name}\n{text}--- says\n{message(text)}\n" for name, (text, _) in cases().items())
    CASES.write_text("".join(blocks))


@pytest.mark.parametrize("name", cases())
def test_message(name):
    text, expected = cases()[name]
    assert message(text) == expected


def test_a_unit_that_numbers_do_not_have_is_not_shown_of_directories_either():
    text = whole(cases()["metric of a resource in another unit"][0])
    assert parse_experiment(text, Path("experiment.toml"), frozen=True).metrics[0].unit == "s"


def test_there_are_many():
    assert len(cases()) >= 100


@pytest.mark.parametrize("name", cases())
def test_message_names_the_file_and_no_library(name):
    said = message(cases()[name][0])
    assert said.startswith("experiment.toml")
    assert not re.search(r"pydantic|Input should|validation error|Traceback|Value error|<table>|<list>", said)


# Files that are no text


def refusal(path: Path) -> str:
    with pytest.raises(PlanError) as caught:
        read_experiment(path)
    return str(caught.value).replace(str(path), "FILE")


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_bytes(content)
    return path


def good() -> str:
    return "".join(REST.values())


def test_absent(tmp_path):
    said = refusal(tmp_path / "experiment.toml")
    assert (
        said == "FILE: there is no such file\n  try: `trialwise new` writes an experiment file to start from"
    )


def test_directory(tmp_path):
    assert refusal(tmp_path) == "FILE: this is a directory\n  try: name a file, such as experiment.toml"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path):
    path = written(tmp_path, good().encode())
    path.chmod(0)
    assert refusal(path) == "FILE: cannot be read: Permission denied"


def test_name_with_nul(tmp_path):
    assert "cannot be read" in refusal(tmp_path / "a\0b")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x7fELF\x02\x01\x01\x00", "FILE: byte 7 is NUL; this is not a text file"),
        (
            b'[experiment]\nname = "\xff"\n',
            "FILE:2: byte 21 is not UTF-8\n  try: save it as UTF-8, if it is a text file",
        ),
        (good().encode("utf-16"), "FILE: this is UTF-16 or UTF-32\n  try: save it as UTF-8"),
        (good().encode("utf-32"), "FILE: this is UTF-16 or UTF-32\n  try: save it as UTF-8"),
        (good().encode("utf-16-le"), "FILE: byte 1 is NUL; this is not a text file"),
        (
            b"#" * 5_000_000,
            f"FILE: larger than {MAX_FILE} bytes; this is not an experiment file",
        ),
        (
            b"a = " + b"[" * 100_000,
            "FILE: lists or tables are nested too deeply",
        ),
        (b"a = " + b"[" * 65 + b"]" * 65, "FILE: lists or tables are nested too deeply"),
        (b"a = " + b"9" * 10_000, "FILE: a number is too long to be read"),
    ],
    ids=[
        "binary",
        "latin-1",
        "utf-16",
        "utf-32",
        "utf-16 without mark",
        "5 MB",
        "nested",
        "nested and closed",
        "long number",
    ],
)
def test_content(tmp_path, content, expected):
    assert refusal(written(tmp_path, content)) == expected


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbf" + good().encode(), good().replace("\n", "\r\n").encode()],
    ids=["byte order mark", "CRLF"],
)
def test_content_that_is_fine(tmp_path, content):
    assert read_experiment(written(tmp_path, content)).name == "x"


def test_every_truncation_is_refused_or_whole(tmp_path):
    text = good()
    for length in range(len(text) - 2):
        assert refusal(written(tmp_path, text[:length].encode())).startswith("FILE")


def test_endless_file():
    assert refusal(Path("/dev/zero")).startswith("FILE: is a device, but a file is expected")


def test_control_characters_of_the_file_do_not_reach_the_terminal():
    assert "\x1b" not in message('[experiment]\nname = "a\\u001b[31m"\n"\\u001b" = 1\n')
