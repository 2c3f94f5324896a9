"""The last resort: an unforeseen error, reported in a sentence."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from trialwise.cli.text import echo
from trialwise.errors import DISK_IS_FULL, AnalysisError, StoreError, TrialwiseError, is_full

DEBUG = "TRIALWISE_DEBUG"
"""Environment variable that enables the traceback."""
_INSTALLED = Path(__file__).parents[1]


def tell(error: BaseException) -> int:
    """Report what went wrong, and where, on standard error, and return the exit code.

    Parameters
    ----------
    error
        The uncaught error; a panic of compiled code is not an `Exception`.
    """
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    said = _said(error)
    echo(f"trialwise: {said.message}", to=sys.stderr)
    echo(f"  try: {said.hint}", to=sys.stderr)
    return said.exit_code


def _said(error: BaseException) -> TrialwiseError:
    if isinstance(error, OSError) and is_full(error):
        where = f"{error.filename}: " if error.filename else ""
        return StoreError(f"{where}{DISK_IS_FULL}", hint="free some space and run again")
    reason = (str(error).strip().splitlines() or ["no reason is given"])[0]
    return AnalysisError(
        f"ended where nothing has foreseen it: {reason} ({type(error).__name__} in {_place(error)})",
        hint=f"the cause may be a value or file that the command names, or a mistake of Trialwise: {DEBUG}=1 shows the traceback, "
        "which belongs in a bug report",
    )


def _place(error: BaseException) -> str:
    """Return the innermost location in our code, `room/module.py:line`."""
    places = [
        f"{Path(frame.filename).relative_to(_INSTALLED)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(_INSTALLED)
    ]
    return places[-1] if places else "cli/main.py"
