"""DataFrames of pandas from those of polars, without pyarrow, which polars' own conversion needs."""

from __future__ import annotations

from typing import Any

from trialwise.errors import AnalysisError
from trialwise.late import pl


def pandas_of(frame: pl.DataFrame) -> Any:  # noqa: ANN401 pandas is not needed, and has no types here
    """Return the same columns as a pandas DataFrame; missing numbers are NaN, other missing entries None.

    Raises
    ------
    AnalysisError
        pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise AnalysisError("pandas is not installed", hint="pip install pandas") from error
    columns = {
        name: column.to_numpy() if column.dtype.is_numeric() else pd.Series(column.to_list(), dtype="object")
        for name, column in zip(frame.columns, frame.get_columns(), strict=True)
    }
    return pd.DataFrame(columns)
