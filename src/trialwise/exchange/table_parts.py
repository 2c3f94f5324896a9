"""Tables that are made part by part, so that a long one need not be in memory as a whole to be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from trialwise.late import pl

PART = 1 << 16
"""Rows of a part, and of a row group of Parquet."""


@dataclass(frozen=True, slots=True)
class TableParts:
    """The columns of a table, and what makes its parts from the first row on."""

    schema: Mapping[str, pl.DataType]
    made: Callable[[], Iterator[pl.DataFrame]]

    def joined(self) -> pl.DataFrame:
        """Return the whole table."""
        parts = list(self.made())
        return pl.concat(parts) if parts else pl.DataFrame(schema=dict(self.schema))

    def write(self, to: Path | BinaryIO) -> None:
        """Write the table as Parquet; the same parts give the same bytes."""
        from polars.io.plugins import register_io_source  # noqa: TID251  a part that is not imported with the whole

        def parts(
            columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
        ) -> Iterator[pl.DataFrame]:
            """Yield all: nothing less is asked for."""
            del columns, predicate, rows, size
            yield from self.made()

        plan = register_io_source(parts, schema=pl.Schema(self.schema))
        plan.sink_parquet(to, compression="zstd", row_group_size=PART, maintain_order=True)
