"""Samples of trials that report many: one Parquet file for each trial and source, columns `time` and `value`."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from trialwise.errors import StoreError
from trialwise.store.files import write_whole

Array = npt.NDArray[np.float64]
TOGETHER = 500
"""Files that are read at once: a tenth of the time of one after another, and little memory."""


def file_name(number: int, attempt: int, source: str) -> str:
    """Where the samples of a trial stand, below the experiment directory."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    return f"samples/{number:06d}-{attempt}-{digest}.parquet"


def record_name(number: int, attempt: int, what: Literal["packets", "flows"]) -> str:
    """Where the packets of a path trial, or the flows of a simulated one, stand, below the experiment directory."""
    return f"samples/{number:06d}-{attempt}-{what}.parquet"


def write_samples(path: Path, values: Array, times: Array | None) -> None:
    """Write samples durably: a temporary file, synced, then renamed; a crash leaves the whole file or none."""
    import polars as pl  # a tenth of a second that trials with single numbers need not wait for

    frame = pl.DataFrame({"value": values} if times is None else {"time": times, "value": values})
    packed = io.BytesIO()  # polars has errors of its own for a full disk
    frame.write_parquet(packed, compression="zstd")
    write_whole(path, lambda file: file.write(packed.getbuffer()))


def read_samples(path: Path) -> tuple[Array, Array | None]:
    """Read (values, times) of a trial; times are None where the trial gave none."""
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error
    times = frame["time"].to_numpy() if "time" in frame.columns else None
    return frame["value"].to_numpy(), times


def read_many(folder: Path, files: Sequence[str]) -> Iterator[tuple[Array, Array | None]]:
    """Read (values, times) of many trials, in the order of `files`, which stand below `folder`; as `read_samples` does.

    Raises
    ------
    StoreError
        A file cannot be read.
    """
    import polars as pl

    for first in range(0, len(files), TOGETHER):
        paths = [str(folder / file) for file in files[first : first + TOGETHER]]
        try:
            frame = pl.read_parquet(paths, include_file_paths="file")
        except (OSError, pl.exceptions.PolarsError):
            # Some give times and others none, or one is broken, which is then named.
            yield from (read_samples(Path(path)) for path in paths)
            continue
        counts = dict(frame["file"].value_counts().iter_rows())
        values = frame["value"].to_numpy()
        times = frame["time"].to_numpy() if "time" in frame.columns else None
        end = 0
        for path in paths:
            begin, end = end, end + counts.get(path, 0)
            yield values[begin:end], None if times is None else times[begin:end]
