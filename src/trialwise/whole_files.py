"""Files that are written whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from trialwise.errors import not_written


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """A file beside `path` to write into, with the same ending, that takes its place at the end: a full disk leaves nothing half.

    What is no ordinary file, such as /dev/stdout, is written itself.

    Raises
    ------
    StoreError
        The file cannot be written; what was there before is there still.
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
    """Whether Polars raised it, which hides what the system said of a Parquet file."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(error, polars.exceptions.PolarsError)
