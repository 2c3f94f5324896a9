"""Parquet files as tables; a damaged one is an error, whatever exception the library raises."""

from __future__ import annotations

import io
from pathlib import Path

from trialwise.errors import AnalysisError
from trialwise.foreign_frames import library_errors
from trialwise.foreign_parquet import values_of
from trialwise.late import pl

MAX_CELLS = 200_000_000
"""Maximum of rows times columns; compression lets a few bytes claim billions."""


def read_parquet(path: Path, content: bytes) -> pl.DataFrame:
    """Read all columns.

    Raises
    ------
    AnalysisError
        The file is damaged, or has more than `MAX_CELLS` cells.
    """
    with library_errors(path):
        plan = pl.scan_parquet(io.BytesIO(content))
        cells = values_of(io.BytesIO(content)) * len(plan.collect_schema())
        if cells > MAX_CELLS:
            raise AnalysisError(
                f"{path}: holds {cells:,} cells; at most {MAX_CELLS:,} are read",
                hint="keep only the columns and rows that are needed",
            )
        return pl.read_parquet(io.BytesIO(content))
