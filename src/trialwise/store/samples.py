"""Samples of trials that report many: one Parquet file for each trial and source, columns `time` and `value`."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise.errors import StoreError

Array = npt.NDArray[np.float64]


def file_name(number: int, attempt: int, source: str) -> str:
    """Where the samples of a trial stand, below the experiment directory."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    return f"samples/{number:06d}-{attempt}-{digest}.parquet"


def write_samples(path: Path, values: Array, times: Array | None) -> None:
    """Write samples durably: a temporary file, synced, then renamed; a crash leaves the whole file or none."""
    import polars as pl  # a tenth of a second that trials with single numbers need not wait for

    columns = {"value": values} if times is None else {"time": times, "value": values}
    temporary = path.with_suffix(".tmp")
    try:
        with temporary.open("wb") as file:
            pl.DataFrame(columns).write_parquet(file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(
            f"{path}: cannot be written: {error.strerror}", hint="free some space and run again"
        ) from error


def read_samples(path: Path) -> tuple[Array, Array | None]:
    """Read (values, times) of a trial; times are None where the trial gave none."""
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error
    times = frame["time"].to_numpy() if "time" in frame.columns else None
    return frame["value"].to_numpy(), times


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
