"""Packed Pantheon folders: the trials of the folder itself, and nothing written or read beyond."""

import gzip
import io
import json
import lzma
import random
import struct
import tarfile
import tempfile
import time
import zlib

import numpy as np
import pytest

from trialwise.errors import AnalysisError
from trialwise.exchange import pantheon_archive, unpacking
from trialwise.exchange.pantheon_archive import with_unpacked
from trialwise.exchange.pantheon_log import MergedLog, write_merged_log
from trialwise.exchange.result_files import read_trials
from trialwise.exchange.tar_members import Tar

PERF = {
    scheme: {str(run): {"all": {"tput": rate + run, "delay": 40.0 + run, "loss": 0.01}} for run in (1, 2, 3)}
    for scheme, rate in (("cubic", 10.0), ("bbr", 11.0))
}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "pantheon_perf.json").write_text(json.dumps(PERF))
    (folder / "pantheon_metadata.json").write_text(json.dumps({"runtime": 30}))
    (folder / "noise.bin").write_bytes(random.Random(1).randbytes(50_000))
    return folder


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Where temporary files go; nothing is left there."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert list(place.iterdir()) == []


def pack(folder, path, top="results"):
    with tarfile.open(path, f"w:{path.suffix[1:]}") as archive:
        archive.add(folder, top)
    return path


def member(name, content=b"{}", **facts):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in facts.items():
        setattr(info, key, value)
    return info, io.BytesIO(content)


def packed(path, *members):
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            archive.addfile(info, content)
    return path


@pytest.mark.parametrize("ending", ["xz", "gz", "bz2"])
def test_it_holds_the_trials_of_the_folder(folder, tmp_path, ending):
    found, own = read_trials(pack(folder, tmp_path / f"x.tar.{ending}")), read_trials(folder)
    columns = ["metric", "treatment", "value", "round", "seconds"]
    assert found.table.select(columns).equals(own.table.select(columns))
    assert found.table["seconds"].unique().to_list() == [30.0]


def test_logs_are_read_and_the_notes_name_the_archive(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    sizes = np.full(20, 1000)
    times = np.arange(20.0)
    none, flows = np.empty(0, np.int64), np.ones(20, np.int64)
    log = MergedLog(0.0, np.empty(0), none, times, sizes, flows, times + 5, sizes, flows, np.full(20, 5.0))
    write_merged_log(folder / "cubic_datalink_run1.log", log)
    (folder / "cubic_datalink_run2.log").write_text("nonsense\n")
    found = read_trials(pack(folder, tmp_path / "x.tar.xz"))
    assert found.table.filter(metric="pantheon_delay")["value"].to_list() == [5.0]
    assert f"{tmp_path / 'x.tar.xz'}/cubic_datalink_run2.log" in found.notes[0]


@pytest.mark.parametrize(
    "name", ["../pantheon_perf.json", "/pantheon_perf.json", "a/../../../pantheon_perf.json"]
)
def test_a_name_that_leads_elsewhere_leads_nowhere(tmp_path, name):
    before = set(tmp_path.rglob("*"))
    path = packed(tmp_path / "x.tar.gz", member(name, json.dumps(PERF).encode()))
    assert len(read_trials(path).treatments) == 2
    assert set(tmp_path.rglob("*")) == {*before, path}


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.SYMTYPE, "link"), (tarfile.LNKTYPE, "link"), (tarfile.CHRTYPE, "device"),
        (tarfile.FIFOTYPE, "pipe"), (tarfile.DIRTYPE, "folder"),
    ],
)  # fmt: skip
def test_what_is_no_file_is_left_out_and_named(tmp_path, kind, what):
    other = member("r/cubic_datalink_run1.log", b"", type=kind, linkname="/etc/passwd")
    path = packed(tmp_path / "x.tar.gz", other)
    said = f"left out: r/cubic_datalink_run1.log is a {what}"
    with pytest.raises(AnalysisError, match=rf"holds no results of a Pantheon test \({said}\)"):
        read_trials(path)
    path = packed(tmp_path / "y.tar.gz", other, member("r/pantheon_perf.json", json.dumps(PERF).encode()))
    found = read_trials(path)
    assert len(found.treatments) == 2
    assert said in found.notes


def test_a_file_that_is_there_twice_is_refused(tmp_path):
    content = json.dumps(PERF).encode()
    path = packed(tmp_path / "x.tar.gz", *(member("r/pantheon_perf.json", content) for _ in range(2)))
    with pytest.raises(AnalysisError, match=r"holds r/pantheon_perf\.json twice"):
        read_trials(path)


def test_one_that_unpacks_to_too_much_is_refused(folder, tmp_path):
    path = pack(folder, tmp_path / "x.tar.xz")
    with pytest.raises(AnalysisError, match="holds more than"):
        with_unpacked(path, list, most=10_000)


def test_two_folders_of_results_are_refused(tmp_path):
    content = json.dumps(PERF).encode()
    path = packed(
        tmp_path / "x.tar.gz",
        member("a/pantheon_perf.json", content),
        member("b/pantheon_perf.json", content),
    )
    with pytest.raises(AnalysisError, match="in a and in b"):
        read_trials(path)


@pytest.mark.parametrize("ending", ["xz", "gz", "bz2"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 0.999])
def test_one_that_is_cut_off_is_refused_with_its_name(folder, tmp_path, ending, share):
    path = pack(folder, tmp_path / f"x.tar.{ending}")
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(AnalysisError, match=r"x\.tar.*: (is not a complete archive|cannot be unpacked)"):
        read_trials(path)


@pytest.mark.parametrize("ending", ["xz", "gz", "bz2"])
def test_one_with_a_damaged_byte_gives_no_traceback(folder, tmp_path, ending):
    path = pack(folder, tmp_path / f"x.tar.{ending}")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(AnalysisError, match=r"x\.tar"):
        read_trials(path)


def test_what_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "x.tar.gz"
    path.write_text("scheme,value\n")
    with pytest.raises(AnalysisError, match="is not a complete archive"):
        read_trials(path)


def endless(path, name, size, kind="w:xz", headers=()):
    """An archive of a file of so many zeros."""
    with tarfile.open(path, kind) as archive:
        for info in headers:
            archive.addfile(info, io.BytesIO(bytes(info.size)))
        info = tarfile.TarInfo(name)
        info.size = size
        with open("/dev/zero", "rb") as zeros:  # noqa: PTH123 a device
            archive.addfile(info, zeros)
    return path


@pytest.mark.parametrize("kind", ["xz", "gz", "bz2"])
@pytest.mark.parametrize("name", ["x/cubic_datalink_run1.log", "x/pantheon_perf.json", "x/anything"])
def test_a_small_archive_of_very_much_is_refused_before_it_is_unpacked(tmp_path, monkeypatch, kind, name):
    monkeypatch.setattr(unpacking, "_FREE", 1 << 20)
    path = endless(tmp_path / f"x.tar.{kind}", name, 1 << 23, f"w:{kind}")
    with pytest.raises(AnalysisError, match=f"up to {name}, as no measurements do"):
        read_trials(path)


def test_every_file_of_results_has_its_own_bound(tmp_path, monkeypatch):
    path = endless(tmp_path / "x.tar", "x/pantheon_metadata.json", (1 << 20) + 1, "w:")
    with pytest.raises(AnalysisError, match=r"pantheon_metadata\.json of 1 MiB, which is more than is read"):
        read_trials(path)
    monkeypatch.setattr(pantheon_archive, "MAX_RESULTS", 1000)
    path = packed(tmp_path / "x.tar.gz", *(member(f"x/s_datalink_run{k}.log", b"1" * 300) for k in range(4)))
    with pytest.raises(AnalysisError, match=r"s_datalink_run3\.log of"):
        read_trials(path)


def test_an_archive_of_very_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "MAX_MEMBERS", 5)
    path = packed(tmp_path / "x.tar.gz", *(member(f"x/{k}") for k in range(6)))
    with pytest.raises(AnalysisError, match="more than 5 files"):
        read_trials(path)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_says_to_be_very_long_is_not_read(tmp_path, kind):
    header = tarfile.TarInfo("h")
    header.type, header.size = kind, 1 << 24
    block = header.tobuf(tarfile.USTAR_FORMAT)
    path = tmp_path / "x.tar.gz"
    with gzip.open(path, "wb") as file:
        file.write(block + bytes(header.size))
    with pytest.raises(AnalysisError, match="a header of 16777216 bytes"):
        read_trials(path)


def header(kind, content, name="h"):
    """A header of this kind in front of a member, with its content."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(content)
    return info.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % 512)


def sound(tmp_path):
    """The blocks of an archive of results, without its end."""
    path = packed(tmp_path / "sound.tar.gz", member("r/pantheon_perf.json", json.dumps(PERF).encode()))
    return gzip.decompress(path.read_bytes()).rstrip(b"\0")


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        # CVE-2024-6232: a pattern that begins with digits was searched in such a header.
        ([header(tarfile.XHDTYPE, b"1" * (1 << 20))], "a header of names is damaged"),
        ([header(tarfile.XHDTYPE, b"0 path=x\n")], "a header of names is damaged"),
        ([header(tarfile.XHDTYPE, b"99999999 path=x\n")], "a header of names is damaged"),
        ([header(tarfile.XHDTYPE, b"11 size=-1\n"), header(b"0", b"")], "a size that is no number"),
        ([header(tarfile.XHDTYPE, b"9 path=x\n")] * 5000, "more than 16 headers of one member"),
        ([header(tarfile.GNUTYPE_LONGNAME, b"x\0")] * 5000, "more than 16 headers of one member"),
        ([header(tarfile.GNUTYPE_SPARSE, b"", "x/cubic_datalink_run1.log")], "run1.log is a sparse file"),
        ([header(b"0", b"12")[:514]], "it ends too early"),
        ([header(b"0", b"")], "it ends too early"),
        ([b"x" * 512], "a header is damaged"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("first", [True, False])
def test_headers_that_are_wrong_are_refused_at_once(tmp_path, blocks, said, first):
    path = tmp_path / "x.tar.gz"
    begin = b"" if first else sound(tmp_path)
    path.write_bytes(gzip.compress(begin + bytes(-len(begin) % 512) + b"".join(blocks), 1))
    begun = time.process_time()
    where = r"(, behind h)?" if first else r", behind (r/pantheon_perf\.json|h)"
    with pytest.raises(AnalysisError, match=rf"x\.tar\.gz: is not a complete archive{where}: .*{said}"):
        read_trials(path)
    assert time.process_time() - begun < 20


def test_very_many_headers_count_as_content(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "_FREE", 1 << 20)
    one = header(tarfile.XGLTYPE, b"%d comment=%s\n" % (1 << 19, b" " * ((1 << 19) - 16))) + header(b"0", b"")
    path = tmp_path / "x.tar.xz"
    path.write_bytes(lzma.compress(one * 20, preset=0))
    with pytest.raises(AnalysisError, match="as no measurements do"):
        read_trials(path)


def test_a_damaged_header_between_two_files_is_not_taken_for_the_end(folder, tmp_path):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w:") as archive:
        for name in ("pantheon_perf.json", "noise.bin", "pantheon_metadata.json"):
            archive.add(folder / name, f"r/{name}")
    content = bytearray(path.read_bytes())
    content[content.index(b"r/pantheon_metadata.json") + 60] ^= 1
    path.write_bytes(content)
    with pytest.raises(AnalysisError, match=r"behind r/noise\.bin: a header is damaged"):
        read_trials(path)


def forged(content, dictionary):
    """An xz file whose first block asks for a dictionary of the size that this byte encodes (the XZ format, 5.3.1)."""
    packed = bytearray(lzma.compress(content, preset=0))
    block = packed[12 : 12 + 4 * (packed[12] + 1)]
    assert (block[2], block[3]) == (0x21, 1)
    block[4] = dictionary
    block[-4:] = struct.pack("<I", zlib.crc32(block[:-4]))
    packed[12 : 12 + len(block)] = block
    return bytes(packed)


def test_the_memory_that_xz_may_take_is_bounded(folder, tmp_path):
    content = lzma.decompress(pack(folder, tmp_path / "x.tar.xz").read_bytes())
    path = tmp_path / "y.tar.xz"
    path.write_bytes(forged(content, 28))  # 64 MiB, as `xz -9`
    assert len(read_trials(path).treatments) == 2
    path.write_bytes(forged(content, 40))  # 4 GiB
    with pytest.raises(AnalysisError, match="Memory usage limit exceeded"):
        read_trials(path)


def test_several_streams_of_xz_are_one_archive(folder, tmp_path):
    """As `cat a.xz b.xz` and `pixz` make them, with padding (the XZ format, 2.2)."""
    content = lzma.decompress(pack(folder, tmp_path / "x.tar.xz").read_bytes())
    path = tmp_path / "y.tar.xz"
    parts = [content[:700], content[700:30_000], content[30_000:]]
    path.write_bytes(b"".join(lzma.compress(part) + bytes(8) for part in parts))
    assert len(read_trials(path).treatments) == 2
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(AnalysisError, match="is not a complete archive"):
        read_trials(path)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_members_are_those_that_the_standard_library_finds(tmp_path, form):
    names = ["a", "b/" * 40 + "c", "d/" * 70 + "e", "f" * 99, "g/é", "h/" + "i" * 90]
    names += [] if form == tarfile.USTAR_FORMAT else ["j" * 180, "k/" * 300 + "l"]
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w:", format=form) as archive:
        for count, name in enumerate(names):
            info, content = member(name, b"x" * 511 * count, mtime=1e9 + 0.5 * (form == tarfile.PAX_FORMAT))
            archive.addfile(info, content)
    with tarfile.open(path) as archive, path.open("rb") as file:
        wanted = [(info.name, info.size, archive.extractfile(info).read()) for info in archive]
        tar = Tar(file)
        assert [(one.name, one.size, b"".join(tar.chunks())) for one in tar] == wanted
    assert [name for name, _, _ in wanted] == names
