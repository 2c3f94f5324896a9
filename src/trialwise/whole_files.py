"""Write files completely or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from trialwise.errors import not_written


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """Yield a file beside `path` to write to; it has the same ending and replaces `path` at the end, so nothing is left half done.

    A special file, such as /dev/stdout, is written directly.

    Raises
    ------
    StoreError
        The file cannot be written; earlier content is still there.
    """
    target = path.resolve()
    ordinary = target.is_file() or not target.exists()
    aside = target.with_name(f"{target.stem}.tmp-{os.getpid()}{target.suffix}") if ordinary else target
    try:
        yield aside
        if ordinary:
            aside.replace(target)
    except Exception as error:
        if not isinstance(error, OSError) and not _is_of_polars(error):
            raise
        raise not_written(path, error) from error
    finally:
        if ordinary:
            with suppress(OSError):
                aside.unlink(missing_ok=True)


def _is_of_polars(error: Exception) -> bool:
    """Return True if Polars raised it, which hides what the system said about a Parquet file."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(error, polars.exceptions.PolarsError)
