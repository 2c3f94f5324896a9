"""Read experiment directories without a trace: SQLite writes beside a database that it only reads, a copy of it does not."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_SCRATCH: ContextVar[Path | None] = ContextVar("scratch", default=None)


@contextmanager
def untouched(scratch: Path) -> Generator[None]:
    """While the context lasts, read ledgers from copies in memory, made in the folder `scratch`, and keep nothing in directories."""
    token = _SCRATCH.set(scratch)
    try:
        yield
    finally:
        _SCRATCH.reset(token)


def scratch_folder() -> Path | None:
    """Return the folder for copies of ledgers; None where directories may be touched."""
    return _SCRATCH.get()
