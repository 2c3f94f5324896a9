"""Packed files hold what was packed, with all their streams, or say why not; the packers are those of the machine or Python's own."""

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
import zstandard

from trialwise.errors import AnalysisError
from trialwise.readers.content import read_content
from trialwise.readers.packed import unpacked
from trialwise.readers.tables.content import content_of

TABLE = b"scheme,rate\ncubic,9.25\nbbr,9.75\n"
PACKERS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_what_was_packed_comes_out_for_look_and_for_tables(kind, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(PACKERS[kind](TABLE))
    assert read_content(path).data == TABLE
    assert content_of(path) == TABLE


@pytest.mark.parametrize("kind", PACKERS)
def test_streams_after_one_another_are_all_unpacked(kind):
    large = TABLE * 10_000
    packed = PACKERS[kind](TABLE) + PACKERS[kind](large) + PACKERS[kind](b"")
    assert unpacked(Path("t"), packed, 1 << 20) == TABLE + large


@pytest.mark.parametrize("kind", PACKERS)
def test_a_packed_file_that_is_cut_damaged_or_too_large_is_refused(kind):
    packed = PACKERS[kind](TABLE)
    with pytest.raises(AnalysisError, match=rf"t: is not a complete {kind} file"):
        unpacked(Path("t"), packed[:-3], 1000)
    with pytest.raises(AnalysisError, match=rf"t: is not a complete {kind} file"):
        unpacked(Path("t"), packed[:6] + b"\xff" * 12 + packed[18:], 1000)
    with pytest.raises(AnalysisError, match="t: holds more than"):
        unpacked(Path("t"), PACKERS[kind](bytes(2 << 20)), 1000)


def test_without_its_package_zstd_says_what_to_install(monkeypatch):
    monkeypatch.setattr("trialwise.extras.find_spec", lambda _: None)
    with pytest.raises(AnalysisError, match="is compressed with zstd") as raised:
        unpacked(Path("t"), PACKERS["zstd"](TABLE), 1000)
    assert raised.value.hint == "pip install 'trialwise[zstd]'; or unpack it with unzstd"
