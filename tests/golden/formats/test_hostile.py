"""No reader ends in a traceback on a file that was cut, damaged, or written to harm; what it returns are finite numbers."""

import json
import math
import random
import shutil
from pathlib import Path

import pytest

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.register import recognised, recognised_folder, recognised_table

HERE = Path(__file__).parent / "data"
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "formats"
MOST_CUTS, MOST_FLIPS = 100, 60
NOT_RESULTS = {"expected.json", "NOTE.txt"}


def fixtures():
    found = [
        pytest.param(path, id=str(path.relative_to(folder)))
        for folder in (HERE, SHARED)
        if folder.is_dir()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in NOT_RESULTS and not path.name.endswith(".gz")
    ]
    return found or [pytest.param(None, marks=pytest.mark.skip(reason="needs ../shared"))]


def check(data):
    """Read bytes as a file: an error of ours, or rows that hold together."""
    content = Content(Path("results"), data)
    try:
        reader = recognised(content) or recognised_table(content)
        if reader is None:
            return
        reading = reader.reading(content)
    except AnalysisError:
        return
    for row in reading.rows:
        assert row.value is None or math.isfinite(row.value)
        assert (row.status == "failed") <= (row.value is None)
        assert (row.status == "failed") <= bool(row.reason)


@pytest.mark.parametrize("path", fixtures())
def test_a_file_that_was_cut_is_read_or_refused(path):
    data = path.read_bytes()
    step = max(7, len(data) // MOST_CUTS)
    for end in range(0, len(data), step):
        check(data[:end])


@pytest.mark.parametrize("path", fixtures())
def test_a_file_with_wrong_bytes_is_read_or_refused(path):
    data, rng = path.read_bytes(), random.Random(path.name)
    for _ in range(min(MOST_FLIPS, 4 * len(data))):
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            damaged[rng.randrange(len(damaged))] = rng.choice((rng.randrange(256), *b'0-9,.:;"[]{}eE \n'))
        check(bytes(damaged))


HOSTILE = (
    None, True, -1, 0, 10**400, float("nan"), float("inf"), "", "NaN", "1e400", "\x1b[31mred\x1b[0m", "名前", "x" * 10_000,
    [], {}, [[]], [None], {"": ""}, [1, "2", None],
)  # fmt: skip


def places(document, found=None):
    """Return every container of a document with each of its keys."""
    found = [] if found is None else found
    entries = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in entries:
        found.append((document, key))
        if isinstance(value, (dict, list)):
            places(value, found)
    return found


@pytest.mark.parametrize("path", [case for case in fixtures() if str(case.values[0]).endswith(".json")])
def test_any_field_may_be_anything(path):
    rng = random.Random(path.name)
    try:
        text = path.read_text()
        count = len(places(json.loads(text)))
    except ValueError:
        return
    for place in rng.sample(range(count), min(count, 60)):
        document = json.loads(text)
        container, key = places(document)[place]
        container[key] = rng.choice(HOSTILE)
        check(json.dumps(document).encode())
        del container[key]
        check(json.dumps(document).encode())


@pytest.mark.parametrize("path", fixtures())
def test_digits_may_be_anything(path):
    data, rng = path.read_bytes(), random.Random(path.name)
    for odd in (
        b"",
        b"-",
        b"1.2.3",
        b"nan",
        b"9" * 400,
        b"9" * 5000,
        b"1e999",
        "٣".encode(),
        b"\x1b[31m",
        b"\r",
        b"\0",
    ):
        check(data.replace(rng.choice((b"0", b"1", b"2")), odd, 20))


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
@pytest.mark.parametrize("sample", ["criterion/target", "asv/results"])
def test_a_file_of_a_folder_may_be_anything(sample, tmp_path):
    root = shutil.copytree(SHARED / sample, tmp_path / Path(sample).name)
    rng = random.Random(sample)
    for path in sorted(root.rglob("*.json")):
        text = path.read_text()
        count = len(places(json.loads(text)))
        for place in rng.sample(range(count), min(count, 12)):
            document = json.loads(text)
            container, key = places(document)[place]
            container[key] = rng.choice(HOSTILE)
            path.write_text(json.dumps(document))
            check_folder(root)
        path.write_text(text[: rng.randrange(len(text))])
        check_folder(root)
        path.write_text(text)
    check_folder(root)


def check_folder(root):
    """Read a folder that is one result, if it still is: an error of ours, or finite values."""
    try:
        found = recognised_folder(root)
        if found is not None:
            reader, content = found
            assert all(row.value is None or math.isfinite(row.value) for row in reader.reading(content).rows)
    except AnalysisError:
        return
