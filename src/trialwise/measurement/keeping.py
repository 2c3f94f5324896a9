"""Find, pack within bounds, and read back the files that a trial wrote and that are kept.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import contextlib
import glob
import io
import os
import stat
import tarfile

from trialwise.measurement.file_identity import signature
from trialwise.measurement.outliving import SIZE_LIMIT, Watched, Written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from trialwise.measurement.file_identity import Signature

LARGEST = 16 << 20
"""Maximum bytes of a trial's files that are kept, including their content from before the trial."""
MAX_FILES = 1000
"""Maximum number of files of a trial that are kept."""
MAX_SEEN = 20_000
"""Maximum number of files examined, including those of earlier trials."""
MAX_WATCHED = 256
"""Maximum number of earlier trials' files that are held open, to tell a trial's additions from the rest."""
MAX_WATCHED_SIZE = 64 << 20
"""Maximum bytes of those files together."""
_BEFORE = ".before/"
_ADDED, _HEADING, _BESIDE = "TRIALWISE.added", "TRIALWISE.heading", "TRIALWISE.beside"


class Keeping:
    """The files that a trial is to leave in some places, watched from before it starts until `packed`.

    A place is its name in the archive and its location: a file, a folder, or a pattern for either.
    """

    def __init__(self, places: Sequence[Sequence[str]]) -> None:
        self._places = places
        self._watched: dict[str, Watched] = {}
        self._before: dict[str, Signature | None] = {}
        size = 0
        for _, path in _files(places):
            self._before[path] = found = signature(path)
            size += 0 if found is None else found[2]
            if len(self._watched) < MAX_WATCHED and size <= MAX_WATCHED_SIZE:
                self._watched[path] = Watched(path, size_limit=LARGEST)

    def close(self) -> None:
        """Close the files."""
        for watched in self._watched.values():
            watched.close()

    def packed(self, program: bytes | None = None) -> tuple[bytes, list[str]]:
        """Pack what was written into a tar archive, empty if nothing was; also say why each file left out was.

        `program` is the archive of the measured program's files, to which those of the commands beside it are added: a file that
        both wrote stays as the program left it, as metrics have read it.
        """
        known = _sizes(program or b"")
        room, number = LARGEST - sum(known.values()), len(known)
        left_out: list[str] = []
        content = io.BytesIO(program or b"")
        with tarfile.open(
            fileobj=content, mode="a" if program else "w", format=tarfile.PAX_FORMAT
        ) as archive:
            for name, path in _files(self._places):
                if name in known or (path in self._before and signature(path) == self._before[path]):
                    continue
                written = self._written(path, room)
                if written.problem is None and len(written.data) + len(written.before) > room:
                    written = Written(problem=f"over the limit of {LARGEST >> 20} MiB for each trial")
                elif written.problem is None and number >= MAX_FILES:
                    written = Written(problem=f"over the limit of {MAX_FILES} files for each trial")
                if written.problem is not None:
                    left_out.append(f"{name}: {written.problem}")
                    continue
                number += 1
                room -= len(written.data) + len(written.before)
                _add(archive, name, written, beside=program is not None)
        return (content.getvalue() if number else b""), left_out

    def _written(self, path: str, room: int) -> Written:
        if path in self._watched:
            return self._watched[path].written()
        if path in self._before:
            return Written(problem=f"more than {MAX_WATCHED} files stood there before the trial")
        try:
            return Written(_content(path, room + 1))
        except OSError as error:
            return Written(problem=error.strerror or "cannot be read")


def packed_folder(path: str) -> Written:
    """Pack the JSON files of a folder that a trial made for itself into a tar archive, named from the folder itself."""
    content, room = io.BytesIO(), SIZE_LIMIT
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for number, (name, inside) in enumerate(_files([("", path)])):
            if number >= MAX_SEEN - 1:
                return Written(problem=f"{path} holds more than {MAX_SEEN:,} files")
            if not name.endswith(".json"):
                continue
            try:
                written = Written(_content(inside, room + 1))
            except OSError as error:
                return Written(
                    problem=f"cannot read {inside}: {error.strerror}", hint="check its permissions"
                )
            room -= len(written.data)
            if room < 0:
                return Written(problem=f"{path} holds more than {SIZE_LIMIT:,} bytes")
            _add(archive, os.path.basename(path) + name, written, beside=False)  # noqa: PTH119
    return Written(content.getvalue())


def is_archive(data: bytes) -> bool:
    """Return True if bytes are such an archive."""
    return data[257:262] == b"ustar"


def unpack(archive: bytes, folder: Path) -> None:
    """Write the regular files of an archive into a folder, and none outside of it; what is damaged is left out."""
    damages = (OSError, EOFError, ValueError, tarfile.TarError)
    with contextlib.suppress(*damages), tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as files:
        for info in files:
            parts = info.name.split("/")
            content = files.extractfile(info) if info.isreg() else None
            if content is None or not all(parts) or ".." in parts:
                continue
            place = folder.joinpath(*parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.read())


def kept_files(archive: bytes) -> list[tuple[str, int]]:
    """Return the names and sizes of what a trial wrote, in bytes; what is damaged is left out."""
    found: list[tuple[str, int]] = []
    damages = (OSError, EOFError, ValueError, tarfile.TarError)
    with contextlib.suppress(*damages), tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as files:
        regular = (info for info in files if info.isreg() and not info.name.startswith(_BEFORE))
        found.extend((info.name, info.size) for info in regular)
    return found


def read_kept(archive: bytes, name: str) -> Written | None:
    """Return what a trial wrote to a file of an archive; None if it is missing or the archive is damaged."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as files:
            found = _member(files, name)
            if found is None:
                return None
            headers = found[0].pax_headers
            if _BESIDE in headers:
                return None  # metrics read only what the measured program wrote
            before = _member(files, _BEFORE + name)
            return Written(
                found[1],
                added=_ADDED in headers,
                heading=headers.get(_HEADING, "").encode("utf-8", "surrogateescape"),
                before=b"" if before is None else before[1],
            )
    except (OSError, EOFError, tarfile.TarError, ValueError):
        return None


def _content(path: str, most: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:  # noqa: PTH123
        return file.read(most)


def _sizes(archive: bytes) -> dict[str, int]:
    """Return the files of our archive, with the bytes that each counts towards the limit."""
    if not archive:
        return {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as files:
        return {each.name: each.size for each in files.getmembers()}


def _member(files: tarfile.TarFile, name: str) -> tuple[tarfile.TarInfo, bytes] | None:
    with contextlib.suppress(KeyError):
        info = files.getmember(name)
        file = files.extractfile(info) if info.isreg() else None
        if file is not None:
            return info, file.read()
    return None


def _add(archive: tarfile.TarFile, name: str, written: Written, *, beside: bool) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(written.data)
    headers = {_BESIDE: "1"} if beside else {}
    if written.added:
        headers.update({_ADDED: "1", _HEADING: written.heading.decode("utf-8", "surrogateescape")})
    info.pax_headers = headers
    archive.addfile(info, io.BytesIO(written.data))
    if written.before:
        earlier = tarfile.TarInfo(_BEFORE + name)
        earlier.size = len(written.before)
        archive.addfile(earlier, io.BytesIO(written.before))


def _files(places: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield the regular files in some places, each once, as name and path; links are not followed."""
    seen: set[str] = set()
    for place in places:
        for name, path in _below(place[0], place[1]):
            if len(seen) >= MAX_SEEN:
                return
            if path not in seen:
                seen.add(path)
                yield name, path


def _below(name: str, path: str) -> Iterator[tuple[str, str]]:
    fixed = _fixed(path)
    name_of_fixed = name[: len(name) - (len(path) - len(fixed))]
    for found in sorted(glob.glob(path, recursive=True)) if fixed != path else [path]:  # noqa: PTH207
        called = name_of_fixed + found[len(fixed) :]
        if _is_regular(found):
            yield called, found
        elif not os.path.islink(found):  # noqa: PTH114
            for folder, folders, names in os.walk(found):
                folders.sort()
                for each in sorted(names):
                    inside = os.path.join(folder, each)  # noqa: PTH118
                    if _is_regular(inside):
                        yield called + inside[len(found) :], inside


def _fixed(path: str) -> str:
    """Return the part of a pattern before its wildcards, up to a slash; a path without wildcards is returned whole."""
    first = min((path.find(mark) for mark in "*?[" if mark in path), default=len(path))
    return path if first == len(path) else path[: path.rfind("/", 0, first) + 1]


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
