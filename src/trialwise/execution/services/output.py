"""What a service prints and writes to its log, as far as it is kept, and whether that has matched a pattern.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import os
import re
import stat

from trialwise.execution.workers.agent.outputs import Outputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trialwise.measurement.masking import Masks

KEPT = 64 * 1024
"""Bytes kept of the beginning of an output, and of its end."""
_OVERLAP = 4096
"""Bytes of earlier output in which a match may begin."""
_MAX_READ = 1 << 20


class Kept:
    """The beginning and the end of a text that comes in parts."""

    def __init__(self) -> None:
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def add(self, part: bytes) -> None:
        """Take in a part."""
        self.total += len(part)
        room = KEPT - len(self.head)
        self.head += part[:room]
        self.tail += part[max(room, 0) :]
        if len(self.tail) > 2 * KEPT:
            del self.tail[:-KEPT]

    def skip(self, number: int) -> None:
        """Count a part that nobody has read; at least `KEPT` bytes are to follow."""
        self.total += number

    def text(self, masks: Masks) -> bytes:
        """Return what is kept, without secrets, with a note of what is not."""
        head, tail = bytes(self.head), bytes(self.tail[-KEPT:])
        left_out = self.total - len(head) - len(tail)
        if not left_out:
            return masks.masked(head + tail, cut=True)
        note = f"\n… {left_out} bytes left out …\n".encode()
        return masks.masked(head, cut=True) + note + masks.masked(tail, cut=True, late=True)


class Search:
    """Looks for a pattern in a text that comes in parts."""

    def __init__(self, pattern: str | None) -> None:
        self._pattern = None if pattern is None else re.compile(pattern.encode(), re.MULTILINE)
        self._end = b""
        self.found = False

    def add(self, part: bytes) -> None:
        """Search a further part."""
        if self._pattern is not None and not self.found:
            text = self._end + part
            self.found = self._pattern.search(text) is not None
            self._end = text[-_OVERLAP:]


class Printed(Outputs):
    """What a service prints, standard output and standard error together."""

    def __init__(self, search: Search) -> None:
        super().__init__(0, 0)
        self._search = search
        self.both = Kept()

    def keep(self, output: int, part: bytes) -> None:
        """Keep a part, and look for the pattern."""
        self.both.add(part)
        self._search.add(part)


class LogFile:
    """A log that a service writes to: what comes into the file from now on."""

    def __init__(self, path: str | None, search: Search) -> None:
        self._path = path
        self._search = search
        self.kept = Kept()
        self._position = self._size() or 0

    def read(self, *, to_its_end: bool = False) -> None:
        """Take in what has been written since, a part or `to_its_end`; a file that became shorter is read from its beginning."""
        size = self._size()
        if size is None or self._path is None:
            return
        if size < self._position:
            self._position = 0
        if to_its_end and size - self._position > _MAX_READ and len(self.kept.head) == KEPT:
            self.kept.skip(size - KEPT - self._position)
            self._position = size - KEPT
        try:
            with open(self._path, "rb") as file:
                file.seek(self._position)
                part = file.read(_MAX_READ)
        except OSError:
            return
        self._position += len(part)
        self.kept.add(part)
        self._search.add(part)
        if to_its_end and self._position < size:
            self.read(to_its_end=True)

    def _size(self) -> int | None:
        """Return its size; None if it is no file."""
        try:
            found = None if self._path is None else os.stat(self._path)
        except OSError:
            return None
        return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None
