"""Read files from others with Polars: whatever the library raises on damaged data becomes an error that names the file."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from trialwise.errors import AnalysisError
from trialwise.late import pl


@contextmanager
def library_errors(path: Path) -> Generator[None]:
    """Turn what Polars raises on damaged data, including panics, into an error that names the file.

    A panic is not an `Exception`, and prints a trace of the compiled code, which is kept off the terminal.

    Raises
    ------
    AnalysisError
        Something went wrong in Polars.
    """
    try:
        with _quiet():
            yield
    except AnalysisError:
        raise
    except BaseException as error:
        # The library's panic is not an `Exception`, and its class differs from the one declared to type checkers.
        if type(error).__name__ == "PanicException":
            raise AnalysisError(
                f"{path}: cannot be read: the file is damaged", hint="write or fetch it again"
            ) from error
        expected = (pl.exceptions.PolarsError, OSError, OverflowError, ValueError, MemoryError)
        if not isinstance(error, expected):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise AnalysisError(
            f"{path}: cannot be read: {reason}", hint="expected a CSV or Parquet file"
        ) from error


@contextmanager
def _quiet() -> Generator[None]:
    sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
