"""Read a tar archive forward, in bounded time and memory: ustar, and the names and sizes of pax and GNU (POSIX.1-2017, pax, 10).

The archive comes from others, and the standard library trusts it: `tarfile` searches headers with a pattern that takes the square of
their length (CVE-2024-6232), keeps a copy of all global headers for each member, recurses from header to header, and takes a damaged
header for the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

BLOCK = 512
MAX_HEADER = 1 << 20
"""Maximum bytes of a header in front of a member; names and times take some hundred."""
_MAX_HEADERS = 16
"""Maximum such headers of one member."""
_AT_ONCE = 1 << 20
_CHECKSUM = slice(148, 156)
_KINDS = {
    **dict.fromkeys("0\0" + "7", "file"),
    "1": "link",
    "2": "link",
    "3": "device",
    "4": "device",
    "5": "folder",
    "6": "pipe",
    "S": "sparse file",
}
_LONG_NAME, _LONG_LINK, _OF_MEMBER, _OF_ALL = "L", "K", "x", "g"


class TarError(Exception):
    """The archive is not what its headers say, or says what no archive of files does."""


class Content(Protocol):
    """What is read forward: fewer bytes than asked come at the end alone."""

    def read(self, size: int, /) -> bytes:
        """Read up to so many bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an archive: its name, what it is, and the bytes of its content."""

    name: str
    kind: str
    size: int


class Tar:
    """An archive read forward: iterate over its members, and read the content of the last one with `chunks`."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._left = 0
        self._padding = 0

    def __iter__(self) -> Iterator[Member]:
        """Yield the members.

        Raises
        ------
        TarError
            A header is damaged or very long, or the end of the archive is missing.
        """
        while True:
            member = self._next()
            if member is None:
                return
            yield member
            for _ in self.chunks():
                pass

    def chunks(self) -> Iterator[bytes]:
        """Yield what is left of the content of the member that was yielded last.

        Raises
        ------
        TarError
            The archive ends before it.
        """
        while self._left:
            chunk = self._exactly(min(self._left, _AT_ONCE))
            self._left -= len(chunk)
            yield chunk
        self._exactly(self._padding)
        self._padding = 0

    def _next(self) -> Member | None:
        said: dict[str, str] = {}
        for _ in range(_MAX_HEADERS):
            block = self._exactly(BLOCK)
            if not any(block):
                return None
            kind, size = _checked(block)
            if kind not in (_LONG_NAME, _LONG_LINK, _OF_MEMBER, _OF_ALL):
                return self._member(block, kind, size, said)
            if size > MAX_HEADER:
                raise TarError(f"a header of {size} bytes")
            self._begin(size)
            text = b"".join(self.chunks())
            if kind == _LONG_NAME:
                said["path"] = _text(text)
            elif kind == _OF_MEMBER:
                said |= _records(text)
        raise TarError(f"more than {_MAX_HEADERS} headers of one member")

    def _member(self, block: bytes, kind: str, size: int, said: dict[str, str]) -> Member:
        prefix = _text(block[345:500]) if block[257:263] == b"ustar\0" else ""
        name = said.get("path") or "/".join(part for part in (prefix, _text(block[:100])) if part)
        what = _KINDS.get(kind, "special file")
        if any(key.startswith("GNU.sparse.") for key in said):
            what, name = "sparse file", said.get("GNU.sparse.name", name)
        if what == "sparse file" and kind == "S":
            raise TarError(f"{name} is a sparse file")  # further headers of unknown number follow
        if "size" in said:
            size = _decimal(said["size"])
        self._begin(size if what in ("file", "sparse file", "special file") else 0)
        return Member(name, what, self._left)

    def _begin(self, size: int) -> None:
        self._left, self._padding = size, -size % BLOCK

    def _exactly(self, size: int) -> bytes:
        found = self._content.read(size) if size else b""
        if len(found) < size:
            raise TarError("it ends too early")
        return found


def _checked(block: bytes) -> tuple[str, int]:
    """Return the kind and size that a header states, once its checksum is right."""
    try:
        stated = int(_text(block[_CHECKSUM]).strip() or "0", 8)
    except ValueError:
        stated = -1
    bare = block[: _CHECKSUM.start] + b" " * 8 + block[_CHECKSUM.stop :]
    # Some old programs add the bytes as signed numbers.
    if stated not in (sum(bare), sum(byte - 256 * (byte > 127) for byte in bare)):
        raise TarError("a header is damaged")
    return chr(block[156]), _size(block[124:136])


def _size(field: bytes) -> int:
    """Return the size in a header: octal digits, or the base-256 number of GNU."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:])
    text = field.strip(b"\0 ") or b"0"
    if text.translate(None, b"01234567"):
        raise TarError("a header states a size that is no number")
    return int(text, 8)


def _decimal(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise TarError("a header states a size that is no number")
    return int(text)


def _records(content: bytes) -> dict[str, str]:
    """Return the records `LENGTH KEY=VALUE` of a pax header."""
    found: dict[str, str] = {}
    place = 0
    while place < len(content):
        digits, space, _ = content[place : place + 20].partition(b" ")
        length = int(digits) if space and digits.isdigit() else 0
        record = content[place + len(digits) + 1 : place + length]
        key, equals, value = record.partition(b"=")
        if place + length > len(content) or not equals or not value.endswith(b"\n"):
            raise TarError("a header of names is damaged")
        found[_text(key)] = _text(value[:-1])
        place += length
    return found


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")
