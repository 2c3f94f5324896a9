"""Write an artifact as a zip or tar archive: the same files give the same bytes."""

from __future__ import annotations

import hashlib
import io
import stat
import tarfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trialwise.errors import PlanError, StoreError
from trialwise.exchange.artifact.manifest import NAME, Known, identity_of, manifest_text
from trialwise.extras import module_of
from trialwise.foreign_files import open_foreign

_AT_ONCE = 1 << 20
_FIRST = (1980, 1, 1, 0, 0, 0)
"""The earliest time that zip knows."""
_LAST = 4_354_819_198
"""The latest, in Unix seconds: 2107-12-31 23:59:58."""
_PACKED = (".gz", ".parquet", ".zip", ".xz", ".zst", ".png")
"""Endings of files that are compressed already."""


@dataclass(frozen=True)
class Entry:
    """A file of an artifact: its name there, and its content or the file that holds it."""

    name: str
    content: bytes | Path
    executable: bool = False

    def chunks(self) -> Iterator[bytes]:
        """Yield the content.

        Raises
        ------
        StoreError
            The file cannot be read.
        """
        if isinstance(self.content, bytes):
            yield self.content
            return
        with open_foreign(self.content, error=StoreError) as file:
            yield from iter(lambda: file.read(_AT_ONCE), b"")

    @cached_property
    def measured(self) -> tuple[str, int]:
        """The SHA-256 in hexadecimal, and the size in bytes."""
        digest, size = hashlib.sha256(), 0
        for chunk in self.chunks():
            digest.update(chunk)
            size += len(chunk)
        return digest.hexdigest(), size


def with_manifest(entries: Iterable[Entry]) -> tuple[tuple[Entry, ...], str]:
    """Return the files sorted by name with their manifest, and the identity of the artifact.

    Raises
    ------
    StoreError
        A name may not stand in an artifact, or two files have the same.
    """
    found, known = dict[str, Entry](), Known()
    for entry in entries:
        problem = known.problem_with(entry.name)
        if problem is not None:
            raise StoreError(f"{entry.name!r} {problem}", hint="rename the file, or leave it out")
        found[entry.name] = entry
    manifest = manifest_text({name: entry.measured[0] for name, entry in found.items()})
    found[NAME] = Entry(NAME, manifest)
    return tuple(found[name] for name in sorted(found, key=str.encode)), identity_of(manifest)


ZIP, TAR = ".zip", ".tar.zst"


def check_name(path: Path) -> None:
    """Refuse the name of an archive that would be of another kind than its name says.

    Raises
    ------
    PlanError
        It ends neither with `ZIP` nor with `TAR`.
    """
    if not path.name.endswith((ZIP, TAR)):
        raise PlanError(f"{path}: the ending says the kind of archive", hint=f"end it with {ZIP} or {TAR}")


def write_archive(path: Path, name: str, entries: Iterable[Entry], moment: float) -> None:
    """Write files, in this order, to the archive that is going to bear a name; all bear the same time, in Unix seconds.

    Raises
    ------
    StoreError
        A file changed since its hash was taken.
    """
    if name.endswith(TAR):
        _write_tar(path, entries, moment)
    else:
        _write_zip(path, entries, moment)


class _Hashed(io.RawIOBase):
    """The content of a file, read forward and hashed on the way."""

    def __init__(self, entry: Entry) -> None:
        self._chunks = entry.chunks()
        self._left = b""
        self.digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        while 0 <= len(self._left) < size or size < 0:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            self._left += chunk
        found, self._left = (self._left, b"") if size < 0 else (self._left[:size], self._left[size:])
        self.digest.update(found)
        return found

    @property
    def has_more(self) -> bool:
        """Whether something is left."""
        return bool(self._left or next(self._chunks, b""))


def _write_tar(path: Path, entries: Iterable[Entry], moment: float) -> None:
    zstandard = module_of("zstd", "zstandard", f"{path.name} needs zstandard")
    packer = zstandard.ZstdCompressor(level=10, write_checksum=True)
    with (
        path.open("wb") as file,
        packer.stream_writer(file, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for entry in entries:
            _add(archive, entry, moment)


def _add(archive: tarfile.TarFile, entry: Entry, moment: float) -> None:
    info = tarfile.TarInfo(entry.name)
    info.size, info.mtime = entry.measured[1], int(min(max(moment, 0.0), _LAST))
    info.mode = 0o755 if entry.executable else 0o644
    content = _Hashed(entry)
    try:
        archive.addfile(info, content)
    except OSError as error:
        if error.errno is not None:
            raise
        raise _changed(entry) from error  # it is shorter than it was
    if content.has_more or content.digest.hexdigest() != entry.measured[0]:
        raise _changed(entry)


def _changed(entry: Entry) -> StoreError:
    return StoreError(f"{entry.name}: changed while it was packed", hint="pack again")


def _write_zip(path: Path, entries: Iterable[Entry], moment: float) -> None:
    """Write files as a zip archive.

    Raises
    ------
    StoreError
        A file changed since its hash was taken.
    """
    date = _date(moment)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, date)
            info.create_system = 3  # Unix, wherever it is written
            info.external_attr = (stat.S_IFREG | (0o755 if entry.executable else 0o644)) << 16
            info.compress_type = zipfile.ZIP_STORED if entry.name.endswith(_PACKED) else zipfile.ZIP_DEFLATED
            digest = hashlib.sha256()
            with archive.open(info, "w", force_zip64=entry.measured[1] > 1 << 31) as file:
                for chunk in entry.chunks():
                    digest.update(chunk)
                    file.write(chunk)
            if digest.hexdigest() != entry.measured[0]:
                raise _changed(entry)


def _date(moment: float) -> tuple[int, int, int, int, int, int]:
    known = time.gmtime(min(max(moment, 0.0), _LAST))
    return max(_FIRST, known[:6])
