"""Reading the time that an option allows."""

from __future__ import annotations

from trialwise.errors import PlanError
from trialwise.experiment.quantity import seconds


def budget_seconds(text: str, option: str = "--budget") -> float:
    """Return the seconds of an option, such as 90min or "1d 12h".

    Raises
    ------
    PlanError
        It is no duration above 0.
    """
    try:
        found = seconds(text)
    except ValueError as error:
        raise PlanError(f"{option} {text}: {error}") from error
    if found <= 0:
        raise PlanError(f"{option} {text}: must be above 0")
    return found
