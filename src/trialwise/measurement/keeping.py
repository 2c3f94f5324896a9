"""Find, pack within bounds, and read back the files that a trial wrote and that are kept.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import io
import os
import stat
import tarfile

from trialwise.measurement.file_identity import signature
from trialwise.measurement.masking import Masks
from trialwise.measurement.outliving import SIZE_LIMIT, Watched, Written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from trialwise.measurement.file_identity import Signature

MAX_FILES = 1000
"""Maximum number of files of a trial that are kept."""
MAX_SEEN = 20_000
"""Maximum number of files, folders and other entries examined, including those of earlier trials."""
MAX_DEPTH = 100
"""Maximum number of folders inside each other."""
MAX_WATCHED = 256
"""Maximum number of earlier trials' files that are held open, to tell a trial's additions from the rest."""
MAX_WATCHED_SIZE = 64 << 20
"""Maximum bytes of those files together."""
_BEFORE = ".before/"
_ADDED, _HEADING, _BESIDE = "TRIALWISE.added", "TRIALWISE.heading", "TRIALWISE.beside"


class Keeping:
    """The files that a trial is to leave in some places, watched from before it starts until `packed`.

    A place is its name in the archive, its location (a file, a folder, or a pattern for either), and the folder that it has to
    stay in: no link below that is followed. `limit` is the maximum of bytes kept, with content from before the trial;
    secrets of `masks` are masked.
    """

    def __init__(self, places: Sequence[Sequence[str]], limit: int, masks: Masks | None = None) -> None:
        self._places = places
        self._limit = limit
        self._masks = masks or Masks({})
        self._watched: dict[str, Watched] = {}
        self._before: dict[str, Signature | None] = {}
        self._others: set[str] = set()
        self._overfull = False
        size = 0
        for found in _entries(places):
            if found.kind is not None:
                self._others.add(found.path)
                self._overfull |= found.kind == _TOO_MANY
                continue
            self._before[found.path] = state = signature(found.path)
            size += 0 if state is None else state[2]
            if len(self._watched) < MAX_WATCHED and size <= MAX_WATCHED_SIZE:
                self._watched[found.path] = Watched(found.path, size_limit=limit)

    def close(self) -> None:
        """Close the files."""
        for watched in self._watched.values():
            watched.close()

    def packed(self, program: bytes | None = None) -> tuple[bytes, list[str]]:
        """Pack what was written into a tar archive, empty if nothing was; also say why each file left out was.

        `program` is the archive of the measured program's files, to which those of the commands beside it are added: a file that
        both wrote stays as the program left it, as metrics have read it.
        """
        if self._overfull:
            return program or b"", [f"more than {MAX_SEEN:,} entries stood there before the trial"]
        known = _sizes(program or b"")
        room, number = self._limit - sum(known.values()), len(known)
        left_out: list[str] = []
        content = io.BytesIO(program or b"")
        with tarfile.open(
            fileobj=content, mode="a" if program else "w", format=tarfile.PAX_FORMAT
        ) as archive:
            for found in _entries(self._places):
                if found.kind is not None:
                    if found.path not in self._others:
                        left_out.append(f"{found.name}: {found.kind}")
                    continue
                if found.name in known or self._is_as_before(found.path):
                    continue
                if self._masks.hides(found.name):
                    left_out.append(f"{found.name}: a secret stands in its name")
                    continue
                written = self._masks.written(self._written(found.path, room))
                if written.problem is None and len(written.data) + len(written.before) > room:
                    written = Written(problem=f"over trial.keep_limit ({self._limit:,} bytes)")
                elif written.problem is None and number >= MAX_FILES:
                    written = Written(problem=f"over the limit of {MAX_FILES} files for each trial")
                if written.problem is not None:
                    left_out.append(f"{found.name}: {written.problem}")
                    continue
                number += 1
                room -= len(written.data) + len(written.before)
                _add(archive, found.name, written, beside=program is not None)
        return (content.getvalue() if number else b""), [
            _readable(self._masks.text(text)) for text in left_out
        ]

    def _is_as_before(self, path: str) -> bool:
        return path in self._before and signature(path) == self._before[path]

    def _written(self, path: str, room: int) -> Written:
        if path in self._watched:
            return self._watched[path].written()
        if path in self._before:
            return Written(problem=f"more than {MAX_WATCHED} files stood there before the trial")
        try:
            return Written(_content(path, room + 1))
        except OSError as error:
            return Written(problem=error.strerror or "cannot be read")


def packed_folder(path: str, masks: Masks | None = None) -> Written:
    """Pack the JSON files of a folder that a trial made for itself into a tar archive, named from the folder itself."""
    masks = masks or Masks({})
    content, room = io.BytesIO(), SIZE_LIMIT
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for found in _entries([("", path, path)]):
            if found.kind == _TOO_MANY:
                return Written(problem=f"{path} holds more than {MAX_SEEN:,} files")
            if found.kind is not None or not found.name.endswith(".json"):
                continue
            try:
                written = masks.written(Written(_content(found.path, room + 1)))
            except OSError as error:
                return Written(
                    problem=f"cannot read {found.path}: {error.strerror}", hint="check its permissions"
                )
            room -= len(written.data)
            if room < 0:
                return Written(problem=f"{path} holds more than {SIZE_LIMIT:,} bytes")
            _add(archive, os.path.basename(path) + found.name, written, beside=False)  # noqa: PTH119
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
        found.extend((_readable(info.name), info.size) for info in regular)
    return found


def kept_digests(archive: bytes) -> dict[str, str]:
    """Return the SHA-256 of what a trial wrote to each file of an archive, by name; what is damaged is left out."""
    found: dict[str, str] = {}
    damages = (OSError, EOFError, ValueError, tarfile.TarError)
    with contextlib.suppress(*damages), tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as files:
        for info in files:
            content = files.extractfile(info) if info.isreg() and not info.name.startswith(_BEFORE) else None
            if content is not None:
                found[_readable(info.name)] = hashlib.sha256(content.read()).hexdigest()
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
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "is no regular file any more")
        return file.read(most)


def _readable(text: str) -> str:
    """Return text with the bytes of names that are not UTF-8 replaced, so that it can be stored and sent."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


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


_TOO_MANY = f"more than {MAX_SEEN:,} entries: the rest was not looked at"
_TOO_DEEP = f"more than {MAX_DEPTH} folders inside each other"
_LINK = "a link, which is not followed"
_KINDS = (
    (stat.S_ISLNK, _LINK),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class _Entry:
    """A regular file in a place, or something else, whose `kind` says what."""

    def __init__(self, name: str, path: str, kind: str | None = None) -> None:
        self.name = name
        self.path = path
        self.kind = kind


class _Looking:
    """Looks through places, at `MAX_SEEN` entries at most, in the order of their names; links are not followed."""

    def __init__(self) -> None:
        self.left = MAX_SEEN

    def below(self, place: Sequence[str]) -> Iterator[_Entry]:
        """Yield the files of a place."""
        name, path, base = place
        link = _link_below(path, base)
        if link is not None:
            yield _Entry(name, link, _LINK)
            return
        fixed = base + _fixed(path[len(base) :])
        if fixed == path:
            yield from self.inside(name, path)
            return
        called = name[: len(name) - (len(path) - len(fixed))]
        yield from self.matching(called, fixed.rstrip("/") or "/", path[len(fixed) :].strip("/").split("/"))

    def matching(self, name: str, folder: str, parts: Sequence[str]) -> Iterator[_Entry]:
        """Yield the files of what matches a pattern, of which `parts` are left, in a folder; `name` ends before them."""
        first, rest = parts[0], parts[1:]
        if name.count("/") > MAX_DEPTH:
            yield _Entry(name, folder, _TOO_DEEP)
            return
        if first == "**":
            yield from self.matching(name, folder, rest) if rest else self.inside(name.rstrip("/"), folder)
        for each in self.listed(folder):
            hidden = each.startswith(".") and not first.startswith(".")
            path = f"{folder.rstrip('/')}/{each}"
            if first == "**":
                if not hidden and rest and _is_folder(path):
                    yield from self.matching(f"{name}{each}/", path, parts)
            elif not hidden and fnmatch.fnmatchcase(each, first):
                if not rest:
                    yield from self.inside(name + each, path)
                elif _is_folder(path):
                    yield from self.matching(f"{name}{each}/", path, rest)

    def inside(self, name: str, path: str) -> Iterator[_Entry]:
        """Yield a file, or the files of a folder and those below it."""
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            return
        if stat.S_ISREG(mode):
            yield _Entry(name, path)
        elif name.count("/") > MAX_DEPTH:
            yield _Entry(name, path, _TOO_DEEP)
        elif stat.S_ISDIR(mode):
            for each in self.listed(path):
                yield from self.inside(f"{name.rstrip('/')}/{each}", f"{path.rstrip('/')}/{each}")
        else:
            kind = next((text for is_kind, text in _KINDS if is_kind(mode)), "no regular file")
            yield _Entry(name, path, kind)

    def listed(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted; fewer, and nothing from then on, if there are too many."""
        names: list[str] = []
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                self.left -= 1
                if self.left < 0:
                    break
                names.append(entry.name)
        return sorted(names)


def _entries(places: Sequence[Sequence[str]]) -> Iterator[_Entry]:
    """Yield what stands in some places, each once; last, if there was too much, an entry that says so."""
    seen: set[str] = set()
    looking = _Looking()
    for place in places:
        for found in looking.below(place):
            if found.path not in seen:
                seen.add(found.path)
                yield found
        if looking.left < 0:
            yield _Entry(place[0], "", _TOO_MANY)
            return


def _link_below(path: str, base: str) -> str | None:
    """Return the first link on the way from a folder to a file or pattern below it; None if there is none."""
    place = base.rstrip("/")
    for part in path[len(place) :].strip("/").split("/")[:-1]:
        place = f"{place}/{part}"
        if os.path.islink(place):  # noqa: PTH114
            return place
    return None


def _fixed(path: str) -> str:
    """Return the part of a pattern before its wildcards, up to a slash; a path without wildcards is returned whole."""
    first = min((path.find(mark) for mark in "*?[" if mark in path), default=len(path))
    return path if first == len(path) else path[: path.rfind("/", 0, first) + 1]


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
