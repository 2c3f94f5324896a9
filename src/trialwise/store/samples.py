"""Samples of trials that report many: one Parquet file per trial and source, or a segment that holds many trials.

A file for one trial and source has a row per sample, columns `time` (if the trial gave times) and `value`. A segment has a row
per trial and source: `number`, `attempt`, `source`, and the lists `time` (null without times) and `value`.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from trialwise.arrays import Array
from trialwise.errors import AnalysisError, StoreError
from trialwise.foreign_files import check_foreign, open_foreign
from trialwise.foreign_parquet import values_of
from trialwise.late import pl
from trialwise.store.connection import RESTORE
from trialwise.store.files import write_whole

_SEGMENT = "from-"
"""Prefix of the names of segments."""
Entry = tuple[int, int, str, Array, Array | None]
"""A row of a segment: number, attempt, source, values, times (or None)."""
Wanted = tuple[str, int, int, str]
"""Where samples are: file below the directory, number, attempt, source."""
MAX_VALUES = 200_000_000
"""Maximum number of values, including elements of lists, in files that are read together."""
TOGETHER = 500
"""Number of files read at once: a tenth of the time of reading them one by one, and little memory."""


def file_name(number: int, attempt: int, source: str) -> str:
    """Return the path of a trial's samples below the experiment directory."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    return f"samples/{number:06d}-{attempt}-{digest}.parquet"


def record_name(number: int, attempt: int, what: Literal["packets", "flows"]) -> str:
    """Return the path of a path trial's packets, or a simulated trial's flows, below the experiment directory."""
    return f"samples/{number:06d}-{attempt}-{what}.parquet"


def segment_name(number: int, attempt: int) -> str:
    """Return the path of the samples of many trials, of which `number` is the first, below the experiment directory."""
    return f"samples/{_SEGMENT}{number:06d}-{attempt}.parquet"


def write_samples(path: Path, values: Array, times: Array | None) -> str:
    """Write samples durably: write a temporary file, sync it, then rename it; after a crash the file is complete or absent.

    Returns the SHA-256 of the file.
    """
    return _write(
        path, pl.DataFrame({"value": values} if times is None else {"time": times, "value": values})
    )


def write_segment(path: Path, entries: Sequence[Entry]) -> str:
    """Write the samples of many trials in one file, as durably as `write_samples`: one sync for all of them.

    Returns the SHA-256 of the file.
    """
    numbers, attempts, sources, values, times = zip(*entries, strict=True)
    columns = {
        "number": pl.Series(numbers, dtype=pl.Int64),
        "attempt": pl.Series(attempts, dtype=pl.Int64),
        "source": pl.Series(sources, dtype=pl.String),
        "time": _lists(times),
        "value": _lists(values),
    }
    return _write(path, pl.DataFrame(columns))


def _lists(arrays: Sequence[Array | None]) -> pl.Series:
    """Convert arrays to a column of lists; polars gives arrays of equal length another type, which does not mix with lists."""
    parts = [None if array is None else pl.Series(array, dtype=pl.Float64) for array in arrays]
    return pl.Series(parts, dtype=pl.List(pl.Float64))


def _write(path: Path, frame: pl.DataFrame) -> str:
    packed = io.BytesIO()  # polars raises its own errors on a full disk
    frame.write_parquet(packed, compression="zstd")
    write_whole(path, lambda file: file.write(packed.getbuffer()))
    return hashlib.sha256(packed.getbuffer()).hexdigest()


def read_samples(path: Path, number: int, attempt: int, source: str) -> tuple[Array, Array | None]:
    """Read (values, times) of a trial from its own file or from a segment; times are None if the trial gave none.

    Raises
    ------
    StoreError
        The file cannot be read, or is a segment without this trial and source.
    """
    if _is_segment(path.name):
        found = _segment(path).get((number, attempt, source))
        if found is None:
            raise StoreError(f"{path}: has no samples of {source} of trial {number} attempt {attempt}")
        return found
    with _damage_of(path):
        frame = _read(path)
        times = _numbers(frame["time"]) if "time" in frame.columns else None
        return _numbers(frame["value"]), times


def _numbers(column: pl.Series) -> Array:

    if not column.dtype.is_numeric():
        raise ValueError(f"its column {column.name} holds no numbers")
    return column.cast(pl.Float64).to_numpy()


Found = dict[tuple[int, int, str], tuple[Array, Array | None]]
"""Values and times by number, attempt and source."""


@lru_cache(maxsize=4)
def _segment(path: Path) -> Found:
    """Read the samples of a segment. Cached, because trials are read in plan order, which repeats a segment many times in a row."""
    with _damage_of(path):
        return _entries(_read(path))


def _entries(frame: pl.DataFrame) -> Found:
    """Return the samples in the rows of segments."""
    keys = zip(*(frame[name].to_list() for name in ("number", "attempt", "source")), strict=True)
    pairs = zip(_arrays(frame["value"]), _arrays(frame["time"]), strict=True)
    return {
        key: (np.empty(0) if values is None else values, times)
        for key, (values, times) in zip(keys, pairs, strict=True)
    }


def _arrays(lists: pl.Series) -> list[Array | None]:
    """Convert a column of lists to arrays that share one buffer; None for a missing list."""
    if isinstance(lists.dtype, pl.Array):  # lists of equal length, as earlier versions wrote them
        lists = lists.arr.to_list()
    counts = lists.list.len()
    if counts.null_count() == len(lists):
        return [None] * len(lists)
    sizes = counts.fill_null(0).to_numpy()
    values = lists.filter(sizes > 0).explode().to_numpy()
    ends = np.cumsum(sizes, dtype=np.int64)
    missing = counts.is_null().to_list()
    starts = (ends - sizes).tolist()
    return [
        None if gone else values[start:end]
        for gone, start, end in zip(missing, starts, ends.tolist(), strict=True)
    ]


def _read(path: Path) -> pl.DataFrame:

    require_room([str(path)])
    return pl.read_parquet(path, glob=False)


def require_room(paths: list[str]) -> None:
    """Reject more than `MAX_VALUES` values: a column or list of one repeated number is small on disk and large in memory."""
    values = 0
    for path in paths:
        with open_foreign(Path(path), error=StoreError) as file:
            values += values_of(file)
    if values > MAX_VALUES:
        raise ValueError(f"{values} values, more than the {MAX_VALUES} that are read at once")


@contextmanager
def _damage_of(path: Path) -> Generator[None]:
    """Turn whatever Polars raises on a damaged file into a StoreError that names the file."""
    from trialwise.foreign_frames import library_errors

    try:
        with library_errors(path):
            yield
    except AnalysisError as error:
        raise StoreError(error.message, hint=RESTORE) from error


def read_many(folder: Path, wanted: Sequence[Wanted]) -> Iterator[tuple[Array, Array | None]]:
    """Read (values, times) of many trials below `folder`, in the order of `wanted`, as `read_samples` does.

    Raises
    ------
    StoreError
        A file cannot be read, lies outside `folder`, or is or lies behind a link.
    """
    for first in range(0, len(wanted), TOGETHER):
        part = wanted[first : first + TOGETHER]
        for file in {file for file, *_ in part}:
            check_foreign(folder / file, within=folder, error=StoreError)
        segments = sum(_is_segment(file) for file, *_ in part)
        together = _read_segments(folder, part) if segments == len(part) else None
        if segments == 0:
            together = _read_together(folder, part)
        if together is None:
            together = (
                read_samples(folder / file, number, attempt, source) for file, number, attempt, source in part
            )
        yield from together


def _read_segments(folder: Path, wanted: Sequence[Wanted]) -> Iterator[tuple[Array, Array | None]] | None:
    """Read trials that share files with others; None if a file is broken or lacks one, which the caller then identifies."""
    paths = list(dict.fromkeys(str(folder / file) for file, *_ in wanted))
    sources = list(dict.fromkeys(source for *_, source in wanted))
    try:
        with _damage_of(folder):
            require_room(paths)
            plan = pl.scan_parquet(paths, glob=False).filter(pl.col("source").is_in(sources))
            found = _entries(plan.collect())
    except StoreError:
        return None
    keys = [(number, attempt, source) for _, number, attempt, source in wanted]
    return iter([found[key] for key in keys]) if found.keys() >= set(keys) else None


def _read_together(folder: Path, wanted: Sequence[Wanted]) -> Iterator[tuple[Array, Array | None]] | None:
    """Read trials with a file each; None if only some have times, or one is broken, which the caller then identifies."""
    paths = [str(folder / file) for file, *_ in wanted]
    try:
        with _damage_of(folder):
            require_room(paths)
            frame = pl.read_parquet(paths, include_file_paths="file", glob=False)
            values, times = (
                _numbers(frame["value"]),
                _numbers(frame["time"]) if "time" in frame.columns else None,
            )
            counts = dict(frame["file"].value_counts().iter_rows())
    except StoreError:
        return None
    ends = np.cumsum([counts.get(path, 0) for path in paths])
    parts = [None] * len(paths) if times is None else np.split(times, ends[:-1])
    return zip(np.split(values, ends[:-1]), parts, strict=True)


def _is_segment(file: str) -> bool:
    return Path(file).name.startswith(_SEGMENT)
