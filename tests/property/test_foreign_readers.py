"""Files that nobody's program wrote: read, or refused in a sentence, by every reader in the table of `foreign_readers`.

Files are made from small sound ones by changing bytes, numbers and lines. Memory is bounded by the operating system, so that an
array as large as a number in a file fails.
"""

from __future__ import annotations

import random
import re
import resource
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foreign_formats import FORMATS
from foreign_readers import ADDRESS_SPACE, PARSERS, READERS, changed, kept, read_or_refused
from trialwise.errors import TrialwiseError
from trialwise.readers.register import readers
from trialwise.readers.tables.reader import TABLES
from trialwise.trials.held_files import HeldFiles


@pytest.fixture(scope="module", autouse=True)
def little_memory() -> Iterator[None]:
    """No more than `ADDRESS_SPACE` beyond what there is."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ADDRESS_SPACE, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def change_and_read(name: str, folder: Path, rng: random.Random) -> None:
    read_or_refused(name, folder / "x.log", changed(READERS[name][0](folder), rng))


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rng=st.randoms(use_true_random=False))
def test_a_changed_file_is_read_or_refused(name: str, tmp_path: Path, rng: random.Random):
    change_and_read(name, tmp_path, rng)


LONG = (b"9" * 5000, b"-" + b"9" * 5000, b"1" * 5000 + b".5", b"1e99999", b"0x" + b"f" * 5000)
"""Numbers beyond what Python writes (4300 digits), what doubles hold, and what 64 bits hold."""


@pytest.mark.parametrize("name", [name for name in READERS if name not in FORMATS])
def test_numbers_of_any_length_are_read_or_refused(name: str, tmp_path: Path):
    seed = READERS[name][0](tmp_path)
    places = [found.span() for found in re.finditer(rb"\d+(\.\d+)?", seed)][:40]
    for begin, end in places:
        for number in LONG:
            read_or_refused(name, tmp_path / "x.log", seed[:begin] + number + seed[end:])


def test_every_reader_is_fuzzed_with_one_parser():
    assert Counter(chain.from_iterable(PARSERS.values())) == Counter(READERS.keys())


NOT_WRITTEN = {
    "empty-file": "fio-json",
    "vegeta-gob": "refused by its first bytes",
    "netperf-csv": "netperf-text",
    "owping-machine": "owping-text",
    "customBiggerIsBetter": "customSmallerIsBetter",
    "pyperf-json": "pyperf",
}
"""Formats that have no file of their own here, and what stands for them."""


def test_every_format_is_in_the_table():
    known = {reader.name for reader in readers()} | TABLES
    assert FORMATS.keys() | NOT_WRITTEN.keys() == known


@pytest.mark.parametrize("parser", [parser for parser in PARSERS if kept(parser).exists()])
def test_what_fuzzing_has_kept_is_read_or_refused(parser: str, tmp_path: Path):
    readers = PARSERS[parser]
    with zipfile.ZipFile(kept(parser)) as archive:
        for content in map(archive.read, archive.namelist()):
            read_or_refused(readers[content[0] % len(readers)], tmp_path / "x.log", content[1:])


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
def test_changed_files_for_ten_minutes(name: str, tmp_path: Path):
    rng = random.Random(17)
    until = time.monotonic() + 600
    while time.monotonic() < until:
        state = rng.getstate()
        try:
            change_and_read(name, tmp_path, rng)
        except BaseException as error:
            error.add_note(f"{name}: random state {hash(state)}; the file is {tmp_path / 'x.log'}")
            raise


def test_links_that_name_a_changed_file_are_made_or_refused(tmp_path: Path):
    from trialwise import _core

    rng = random.Random(5)
    seeds = {
        "trace:x": b"1\n2\n5\n",
        "series:x": b"0 1ms\n5 20ms\n",
        "loss": b"0 1%\n9 20%\n",
        "pattern": b"0001\n",
    }
    for _ in range(300):
        name = rng.choice(list(seeds))
        (tmp_path / "x").write_bytes(changed(seeds[name], rng))
        key = {"trace:x": "rate", "series:x": "delay"}.get(name, "loss")
        text = {"loss": "series:x", "pattern": "trace:x"}.get(name, name)
        files = HeldFiles()
        said = ""
        try:
            _core.check_link(files.groups((((key, text),),), str(tmp_path)), ".", 0.1)
        except (TrialwiseError, ValueError) as error:
            said = files.in_own_words(str(error))
        assert "/proc/" not in said
