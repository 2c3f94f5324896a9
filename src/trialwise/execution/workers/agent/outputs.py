"""A program's output: pipes, and the part that is kept."""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

PAUSE = 0.001
"""Seconds for which nearly empty pipes are left alone: a program that prints single lines would wake us for each."""
MUCH = 8192
PART = 1 << 16


class Outputs:
    """Standard output and standard error; `kept` up to `limits` bytes each, of `totals`."""

    def __init__(self, *limits: int) -> None:
        pipes = [os.pipe() for _ in limits]
        self.limits = limits
        self.kept = [bytearray() for _ in limits]
        self.totals = [0 for _ in limits]
        self.writers = [writer for _, writer in pipes]
        self.readers = {reader: number for number, (reader, _) in enumerate(pipes)}
        for reader in self.readers:
            os.set_blocking(reader, False)

    def close_writers(self) -> None:
        """Leave the writing ends to the program."""
        for writer in self.writers:
            os.close(writer)

    def read(self, until: int | None = None) -> None:
        """Read output until every writer has closed it, or until `until` becomes readable."""
        others: list[int] = [] if until is None else [until]
        while self.readers or others:
            ready = select.select([*self.readers, *others], [], [])[0]
            taken = [self.take(reader) for reader in ready if reader in self.readers]
            if until in ready:
                return self.drain()
            if taken and max(taken) < MUCH:
                time.sleep(PAUSE)
        return None

    def drain(self) -> None:
        """Read what is there now, and close the pipes."""
        for reader in list(self.readers):
            while self.take(reader):
                pass
            if reader in self.readers:
                self.close(reader)

    def take(self, reader: int) -> int:
        """Read a part; return its number of bytes."""
        try:
            part = os.read(reader, PART)
        except BlockingIOError:
            return 0
        if not part:
            self.close(reader)
        self.keep(self.readers.get(reader, 0), part)
        return len(part)

    def close(self, reader: int) -> None:
        """Close a pipe."""
        del self.readers[reader]
        os.close(reader)

    def keep(self, output: int, part: bytes) -> None:
        """Keep what is within the limit, and count everything."""
        kept = self.kept[output]
        kept += part[: max(self.limits[output] - len(kept), 0)]
        self.totals[output] += len(part)
