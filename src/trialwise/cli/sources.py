"""What commands that conclude are given: paths of a directory, of files of other tools, or of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.foreign_files import named

Data = Annotated[Path, Parameter(required=True)]
Factor = Annotated[str | None, Parameter(negative="")]


def named_all(paths: Sequence[Path]) -> str:
    """Return the first path for a line of progress, and how many more there are."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return named(paths[0]) + more
