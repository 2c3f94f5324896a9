"""Describe exceptions of a congestion control in Python, in one line and in full."""

from __future__ import annotations

import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.errors import TrialError

if TYPE_CHECKING:
    from trialwise.trials.base import TrialOutcome


class OverdueError(TrialError):
    """A computed trial that took longer than its timeout."""


def reason_of(error: Exception) -> str:
    """Say what was raised, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"the congestion control raised {type(error).__name__}: {error}{place}"


def traceback_of(error: Exception) -> str:
    """Return the whole traceback, as Python prints it."""
    return "".join(traceback.format_exception(error))


def raised(error: Exception, started: float) -> TrialOutcome:
    """Return the outcome of a trial that an exception ended: the reason says where, the output has the whole traceback."""
    from trialwise.trials.base import TrialOutcome

    return TrialOutcome(
        "failed", started, time.time(), reason=reason_of(error), errors=traceback_of(error).encode()
    )
