"""Write files completely or not at all."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trialwise.asides import aside_file
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
    with whole_files([path]) as (aside,):
        yield aside


@contextmanager
def whole_files(paths: Sequence[Path]) -> Generator[list[Path]]:
    """Yield a file beside each path, as `whole_file` does; at the end all of them replace what was there.

    Of several, what was there is removed before the first of them appears. So a process that is killed in between leaves a part of one
    set, never parts of two; the last path is there only where all are.

    Raises
    ------
    StoreError
        A file cannot be written; earlier content is still there.
    """
    # What a special file stands for, as a pipe, may have no path.
    targets = [path if is_special(path) else path.resolve() for path in paths]
    with ExitStack() as held:
        asides = {
            target: held.enter_context(_aside(path, target))
            for path, target in zip(paths, targets, strict=True)
            if not is_special(path)
        }
        with _written(paths, asides):
            yield [asides.get(target, target) for target in targets]
            for target in reversed(asides) if len(asides) > 1 else ():
                target.unlink(missing_ok=True)
            for target, aside in asides.items():
                aside.replace(target)


@contextmanager
def _written(paths: Sequence[Path], asides: Mapping[Path, Path]) -> Generator[None]:
    """Turn an error of the system or of Polars into that of the path that could not be written."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, OSError) and not _is_of_polars(error):
            raise
        raise not_written(_failed(paths, asides, error), error) from error


def is_special(path: Path) -> bool:
    """Return True if a path is a device, a pipe, or a file that a process has open, as /dev/stdout: nothing may replace it."""
    return (
        (path.exists() and not path.is_file())
        or path.absolute().parts[:2] == ("/", "proc")
        or path.absolute() in _OPEN
    )


_OPEN = frozenset(map(Path, ("/dev/stdout", "/dev/stderr")))


def _failed(paths: Sequence[Path], asides: Mapping[Path, Path], error: Exception) -> Path:
    """Return the path that an error names, or the last one, which no other comes after."""
    named = str(getattr(error, "filename", None))
    return next((path for path in paths if named == str(asides.get(path.resolve()))), paths[-1])


@contextmanager
def _aside(path: Path, target: Path) -> Generator[Path]:
    """Make a hidden file, so that none that a killed process left is read as a result."""
    with ExitStack() as held:
        with _written([path], {}):
            aside = held.enter_context(aside_file(f".{target.stem}.tmp-", target.suffix, target.parent))
        yield aside


def _is_of_polars(error: Exception) -> bool:
    """Return True if Polars raised it, which hides what the system said about a Parquet file."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(error, polars.exceptions.PolarsError)
