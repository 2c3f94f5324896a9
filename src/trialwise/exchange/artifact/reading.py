"""Open an artifact that somebody else made: a zip or tar archive, or a folder. The only place that unpacks one.

Whatever it says: nothing is written outside of a folder of our own, nothing is run, links and devices are refused, and what it
unpacks to is bounded.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from trialwise.errors import StoreError
from trialwise.exchange.artifact.manifest import NAME, Known, problem_of
from trialwise.exchange.tar_members import Tar
from trialwise.exchange.unpacking import DAMAGED, MAX_BYTES, MAX_MEMBERS, PADDING, Bounds, decompressed
from trialwise.foreign_files import absent, open_foreign
from trialwise.temporary import vanishing_folder

_AT_ONCE = 1 << 20
_ZIP = b"PK"
_END = b"PK\x05\x06"
_LOCATOR, _LONG_END = b"PK\x06\x07", b"PK\x06\x06"
"""What the locator of zip64's end record begins with, and that record."""
_MOST_PLACE = (1 << 63) - 1
_MAX_END = 65_557
"""Bytes from the end in which the end record of a zip archive begins, with its comment."""
_MAX_DIRECTORY = 64 << 20
"""Maximum bytes of a zip archive's list of members, which is read whole."""
_ENCRYPTED = 1
_BROKEN = (*DAMAGED, zipfile.BadZipFile, NotImplementedError, RuntimeError, struct.error)
_COPY = "ask its sender for another copy"


@dataclass(frozen=True, slots=True)
class Artifact:
    """An artifact that is open: the folder that holds its files, and their names."""

    path: Path
    folder: Path
    names: tuple[str, ...]


@contextmanager
def opened_artifact(path: Path) -> Generator[Artifact]:
    """Open an artifact for reading; an archive is unpacked into a temporary folder, which is removed again.

    Raises
    ------
    StoreError
        It is no artifact, or holds what none may hold.
    AnalysisError
        It is absent, or holds too much.
    """
    if not path.exists():
        raise absent(path, "name an archive or folder that `trialwise pack` made")
    if path.is_dir():
        yield _inside(path, path, tuple(_listed(path)))
        return
    with vanishing_folder("trialwise-") as folder:
        names = tuple(_unpack(path, folder))
        yield _inside(path, folder, names)


def _inside(path: Path, folder: Path, names: tuple[str, ...]) -> Artifact:
    """Return the artifact, which may lie in the only folder of an archive."""
    if NAME not in names:
        tops = {name.partition("/")[0] for name in names}
        top = next(iter(tops), "")
        if len(tops) == 1 and f"{top}/{NAME}" in names:
            return Artifact(path, folder / top, tuple(name[len(top) + 1 :] for name in names))
        raise StoreError(
            f"{path}: is no artifact: there is no {NAME}",
            hint="name an archive or folder that `trialwise pack` made",
        )
    return Artifact(path, folder, names)


# A folder


def _listed(folder: Path) -> Generator[str]:
    number = 0
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in (*folders, *files):
            file = Path(place) / name
            number += 1
            if number > MAX_MEMBERS:
                raise StoreError(f"{folder}: holds more than {MAX_MEMBERS} files")
            relative = file.relative_to(folder).as_posix()
            mode = file.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise _refused(folder, relative, "is a link or no regular file")
        yield from ((Path(place) / name).relative_to(folder).as_posix() for name in sorted(files))


# Archives


def _unpack(path: Path, folder: Path) -> list[str]:
    try:
        with open_foreign(path, error=StoreError) as packed:
            bounds = Bounds(
                path, path.stat().st_size, MAX_BYTES, "unpack it where there is room, and name the folder"
            )
            head = packed.read(4)
            packed.seek(0)
            take = _Files(path, folder, bounds)
            if head.startswith(_ZIP):
                _from_zip(packed, path, take)
            else:
                _from_tar(packed, take, bounds)
            return take.names
    except _BROKEN as error:
        raise StoreError(
            f"{path}: is not a complete archive: {error}", hint="was it copied or downloaded to its end?"
        ) from error
    except OSError as error:
        raise StoreError(f"{path}: cannot be unpacked: {error.strerror or error}", hint=_COPY) from error


class _Files:
    """Writes the members of an archive below a folder, once their names are seen to be harmless."""

    def __init__(self, path: Path, folder: Path, bounds: Bounds) -> None:
        self._path, self._folder, self._bounds = path, folder, bounds
        self.names: list[str] = []
        self._known = Known()

    def begin(self, name: str, size: int, kind: str) -> bool:
        """Check a member; return True if it has content to be written."""
        self._bounds.begin(name, size)
        if kind == "folder":
            name = name.rstrip("/")
            if name in ("", "."):
                return False
        name = name.removeprefix("./")
        problem = self._known.problem_with(name) if kind == "file" else problem_of(name)
        if problem is None and kind not in ("file", "folder"):
            problem = f"is a {kind}"
        if problem is not None:
            raise _refused(self._path, name, problem)
        if kind == "file":
            self.names.append(name)
        return kind == "file"

    def write(self, chunks: Iterable[bytes]) -> None:
        """Write the content of the member that began last."""
        file = self._folder / self.names[-1]
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as target:
            target.writelines(chunks)


def _refused(path: Path, name: str, problem: str) -> StoreError:
    return StoreError(
        f"{path}: {name!r} {problem}, which no artifact holds", hint="do not unpack it by other means"
    )


class _Counted:
    """What is read forward, counted."""

    def __init__(self, read: Callable[[int], bytes], bounds: Bounds) -> None:
        self._read, self._bounds = read, bounds

    def read(self, size: int, /) -> bytes:
        self._bounds.add(size)
        return self._read(size)


def _from_tar(packed: BinaryIO, take: _Files, bounds: Bounds) -> None:
    content = decompressed(packed)
    tar = Tar(_Counted(content.read, bounds))
    for member in tar:
        if take.begin(member.name, member.size, member.kind):
            take.write(tar.chunks())
    content.read(PADDING)  # the checksum follows it


def _from_zip(packed: BinaryIO, path: Path, take: _Files) -> None:
    _check_directory(packed, path)
    with zipfile.ZipFile(packed) as archive:
        for info in archive.infolist():
            if info.flag_bits & _ENCRYPTED:
                raise _refused(path, info.filename, "is encrypted")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _refused(path, info.filename, "is compressed in an unusual way")
            kind = _kind(info)
            if take.begin(info.orig_filename, info.file_size, kind):
                with archive.open(info) as file:
                    take.write(_bounded(file.read, info.file_size))


def _kind(info: zipfile.ZipInfo) -> str:
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "special file"
    return "folder" if info.orig_filename.endswith("/") else "file"


def _bounded(read: Callable[[int], bytes], size: int) -> Generator[bytes]:
    """Yield the content of a member, and refuse more than its stated size."""
    left = size
    while chunk := read(_AT_ONCE):
        left -= len(chunk)
        if left < 0:
            raise EOFError("a file is longer than it says")
        yield chunk
    if left:
        raise EOFError("a file is shorter than it says")


def _long_length(packed: BinaryIO, before: bytes) -> int:
    """Return the length of the list of files by the records of zip64 that stand before the end record; 0 if there are none.

    Versions of `zipfile` take the record that lies before its locator, or the one that the locator names.
    """
    locator = before[-20:]
    if not locator.startswith(_LOCATOR):
        return 0
    packed.seek(min(struct.unpack_from("<Q", locator, 8)[0], _MOST_PLACE))
    records = before[:-20], packed.read(56)
    return max(
        (
            struct.unpack_from("<Q", each, 40)[0]
            for each in records
            if each[:4] == _LONG_END and len(each) == 56
        ),
        default=0,
    )


def _check_directory(packed: BinaryIO, path: Path) -> None:
    """Refuse a list of members that is larger than memory should hold: `zipfile` reads it whole."""
    size = packed.seek(0, os.SEEK_END)
    packed.seek(max(0, size - _MAX_END))
    tail = packed.read(_MAX_END)
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise EOFError("the list of its files is missing")
    length = max(struct.unpack_from("<L", tail, at + 12)[0], _long_length(packed, tail[max(0, at - 76) : at]))
    if length > _MAX_DIRECTORY:
        raise StoreError(f"{path}: its list of files takes {length} bytes", hint="pack fewer files")
    packed.seek(0)
