"""Archives that attack who opens them: nothing is written outside, nothing is followed, nothing grows without bound."""

import contextlib
import io
import os
import stat
import struct
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trialwise.errors import AnalysisError, PlanError, StoreError
from trialwise.exchange import unpacking
from trialwise.exchange.artifact import reading
from trialwise.exchange.artifact.archive import Entry, with_manifest, write_archive
from trialwise.exchange.artifact.integrity import integrity_of
from trialwise.exchange.artifact.manifest import NAME, manifest_text, problem_of, read_manifest
from trialwise.exchange.artifact.reading import opened_artifact
from trialwise.study.artifact.verifying import verify

KINDS = (".zip", ".tar.zst")
NAMES = [
    "../out",
    "/etc/out",
    "a/../../out",
    "a\\out",
    "C:/out",
    "a//out",
    "./../out",
    "a\x1b[31m",
    "e\u0301",
    "a\u202egpj.sh",
    "a\u200bb",
    "x" * 300,
    "a/" * 40 + "b",
]


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Where archives are unpacked; nothing is left there, and nothing appears beside it."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert list(place.iterdir()) == []
    assert not (tmp_path / "out").exists()


def zipped(path, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(NAME, "")
        for name, content in members:
            archive.writestr(name, content)
    return path


def tarred(path, *members):
    with tarfile.open(path, "w:gz") as archive:
        for info, content in ((tarfile.TarInfo(NAME), b""), *members):
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def refused(path, words="", kind=StoreError):
    with pytest.raises(kind, match=words), opened_artifact(path):
        pass


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_elsewhere_or_hide_something_are_refused(tmp_path, name):
    assert problem_of(name) is not None
    refused(zipped(tmp_path / "a.zip", (name, "x")), "which no artifact holds")
    refused(tarred(tmp_path / "a.tar.gz", (tarfile.TarInfo(name), b"x")), "which no artifact holds")
    with pytest.raises(StoreError):
        read_manifest(manifest_text({name: "0" * 64}))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_are_refused(tmp_path, kind):
    info = tarfile.TarInfo("a")
    info.type, info.linkname = kind, "/etc/passwd"
    refused(tarred(tmp_path / "a.tar.gz", (info, b"")), "'a' is a ")


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_in_a_zip_are_refused(tmp_path, mode):
    info = zipfile.ZipInfo("a")
    info.external_attr = (mode | 0o777) << 16
    refused(zipped(tmp_path / "a.zip", (info, "/etc/passwd")), "'a' is a ")


def test_links_in_a_folder_are_refused(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / NAME).write_text("")
    (folder / "b").symlink_to("/etc/passwd")
    refused(folder, "'b' is a link")
    (folder / "b").unlink()
    os.mkfifo(folder / "b")
    refused(folder, "'b' is a link or no regular file")


def test_bombs_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "_FREE", 1 << 20)
    refused(zipped(tmp_path / "a.zip", ("a", bytes(8 << 20))), "as no measurements do", AnalysisError)
    refused(
        tarred(tmp_path / "a.tar.gz", (tarfile.TarInfo("a"), bytes(8 << 20))),
        "as no measurements do",
        AnalysisError,
    )
    monkeypatch.setattr(unpacking, "MAX_MEMBERS", 3)
    refused(
        zipped(tmp_path / "b.zip", *((f"f{at}", "") for at in range(9))), "more than 3 files", AnalysisError
    )


def test_a_member_that_is_longer_than_it_says_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", ("a", bytes(100_000)))
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = content.rfind(mark)
        content[place + at : place + at + 4] = struct.pack("<L", 10)
    path.write_bytes(content)
    refused(path, "is not a complete archive")


def test_a_list_of_files_that_would_fill_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_MAX_DIRECTORY", 100)
    refused(zipped(tmp_path / "a.zip", ("a", ""), ("b", "")), "its list of files takes")


@pytest.mark.parametrize("named", [False, True], ids=["before its locator", "where the locator says"])
def test_a_list_of_files_whose_length_zip64_hides_is_refused(tmp_path, monkeypatch, named):
    archive = zipped(tmp_path / "a.zip", *((f"file{at}", "") for at in range(100)))
    content = archive.read_bytes()
    end = content.rindex(b"PK\5\6")
    length, begin = struct.unpack_from("<LL", content, end + 12)
    record = struct.pack("<4sQHHLLQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 100, 100, length, begin)
    between = bytes(200) if named else b""
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    short = bytearray(content[end:])
    struct.pack_into("<L", short, 12, 100)
    archive.write_bytes(content[:end] + record + between + locator + short)
    monkeypatch.setattr(reading, "_MAX_DIRECTORY", 1000)
    refused(archive, "its list of files takes")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("README.md", "readme.md"), "'readme.md' differs from another name only in upper and lower case"),
        (("sums.results/a", "Sums.results/b"), "'Sums.results/b' differs"),
        (("stra\u00dfe", "STRASSE"), "'STRASSE' differs"),
        (("a/b", "A"), "'A' differs"),
    ],
)
def test_names_that_are_one_file_where_case_does_not_count_are_refused(tmp_path, names, said):
    content = [(name, "x") for name in names]
    refused(zipped(tmp_path / "a.zip", *content), said)
    refused(tarred(tmp_path / "a.tar.gz", *((tarfile.TarInfo(name), b"") for name, _ in content)), said)
    with pytest.raises(StoreError, match="differs"):
        read_manifest("".join(f"{'0' * 64}  {name}\n" for name in names).encode())
    with pytest.raises(StoreError, match="differs"):
        with_manifest([Entry(name, b"x") for name in names])


def test_a_name_that_stands_twice_is_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate"):
        path = zipped(tmp_path / "a.zip", ("a", "1"), ("a", "2"))
    refused(path, "stands twice")
    refused(zipped(tmp_path / "b.zip", ("a", "1"), ("a/b", "2")), "cannot be unpacked")


def test_what_is_encrypted_or_no_archive_or_none_of_ours_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", ("a", "x"))
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.rfind(mark) + at] |= 1
    path.write_bytes(content)
    refused(path, "is encrypted")
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 and nothing else")
    refused(tmp_path / "b.zip", "is not a complete archive")
    (tmp_path / "c.zip").write_bytes(b"")
    refused(tmp_path / "c.zip", "is not a complete archive")
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("a", "x")
    refused(tmp_path / "d.zip", "there is no MANIFEST")
    refused(tmp_path / "absent.zip", "no such file", AnalysisError)


@given(some.binary(max_size=400), some.integers(0, 600), some.integers(0, 255))
def test_a_damaged_archive_is_refused_in_one_of_our_errors(data, place, byte):
    with tempfile.TemporaryDirectory() as folder:
        path = zipped(Path(folder) / "a.zip", ("a", data))
        content = bytearray(path.read_bytes())
        content[place % len(content)] = byte
        path.write_bytes(content)
        try:
            with opened_artifact(path) as artifact:
                integrity_of(artifact)
        except (StoreError, AnalysisError):
            pass


def test_an_archive_in_a_folder_of_its_own_is_read(tmp_path):
    entries, identity = with_manifest([Entry("a", b"x"), Entry("b/c", b"y")])
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for entry in entries:
            archive.writestr(f"top/{entry.name}", b"".join(entry.chunks()))
    with opened_artifact(tmp_path / "a.zip") as artifact:
        found = integrity_of(artifact)
    assert (found.is_whole, found.identity, found.files) == (True, identity, 2)


def test_a_file_that_changes_while_it_is_packed_is_refused(tmp_path):
    file = tmp_path / "a"
    file.write_text("before")
    entries, _ = with_manifest([Entry("a", file)])
    for after in ("after", "x", "much longer", ""):
        file.write_text(after)
        for name in KINDS:
            with pytest.raises(StoreError, match="changed while it was packed"):
                write_archive(tmp_path / f"{len(after)}{name}", name, entries, 0.0)


@pytest.mark.parametrize("name", KINDS)
def test_content_of_any_size_is_written_and_read_as_it_was(tmp_path, name):
    sizes = (0, 1, 511, 512, 513, (1 << 20) + 1)
    files = [Entry(f"f/{size}", os.urandom(size)) for size in sizes] + [Entry("é" * 120 + "/x", b"long name")]
    entries, identity = with_manifest(files)
    write_archive(tmp_path / f"a{name}", name, entries, 1e9)
    with opened_artifact(tmp_path / f"a{name}") as artifact:
        found = integrity_of(artifact)
    assert (found.is_whole, found.identity, found.files) == (True, identity, len(files))


def zstd(path, content, *, level=3, **more):
    zstandard = pytest.importorskip("zstandard")
    path.write_bytes(zstandard.ZstdCompressor(level=level, **more).compress(content))
    return path


def test_bombs_and_windows_of_zstd_are_refused_in_bounded_memory(tmp_path, monkeypatch):
    plain = tmp_path / "a.tar"
    info = tarfile.TarInfo("a")
    info.size = 8 << 20
    with tarfile.open(plain, "w") as archive:
        archive.addfile(tarfile.TarInfo(NAME))
        archive.addfile(info, io.BytesIO(bytes(info.size)))
    monkeypatch.setattr(unpacking, "_FREE", 1 << 20)
    refused(zstd(tmp_path / "a.tar.zst", plain.read_bytes()), "as no measurements do", AnalysisError)
    header = b"\x28\xb5\x2f\xfd\x00\xa8"  # RFC 8878: no content size, window of 2 GiB
    (tmp_path / "w.tar.zst").write_bytes(header + b"\x01\x00\x00")
    refused(tmp_path / "w.tar.zst", "is not a complete archive")


def test_a_tar_of_zstd_that_is_cut_or_damaged_anywhere_is_refused(tmp_path):
    entries, _ = with_manifest([Entry("a", os.urandom(3000))])
    pytest.importorskip("zstandard")
    write_archive(tmp_path / "a.tar.zst", "a.tar.zst", entries, 0.0)
    whole = (tmp_path / "a.tar.zst").read_bytes()
    damaged = tmp_path / "b.tar.zst"
    for place in range(0, len(whole) - 1, 97):
        damaged.write_bytes(whole[:place])
        refused(damaged, "archive")
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        with contextlib.suppress(StoreError, AnalysisError), opened_artifact(damaged) as artifact:
            assert not integrity_of(artifact).is_whole or place < 12


def test_times_that_zip_does_not_know_become_the_nearest_that_it_does(tmp_path):
    entries, _ = with_manifest([Entry("a", b"")])
    for moment, year in ((-5.0, 1980), (1e12, 2107)):
        write_archive(tmp_path / f"{year}.zip", ".zip", entries, moment)
        assert zipfile.ZipFile(tmp_path / f"{year}.zip").infolist()[0].date_time[0] == year


def test_an_error_names_the_file_in_the_archive_and_not_where_it_was_unpacked(tmp_path, temporary):
    entries, _ = with_manifest([Entry("claims.toml", b"format = 1\n")])
    write_archive(tmp_path / "a.zip", "a.zip", entries, 0.0)
    with pytest.raises(PlanError) as caught:
        verify(tmp_path / "a.zip")
    assert str(caught.value).startswith(f"{tmp_path}/a.zip: claims.toml: 2 problems")
    assert str(temporary) not in str(caught.value)
