"""The errors that Trialwise raises: what happened, where, and what to try."""

from __future__ import annotations

import errno

DISK_IS_FULL = "the disk is full"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class TrialwiseError(Exception):
    """Base of all errors that a user can do something about.

    Parameters
    ----------
    message
        What is wrong and where.
    hint
        What to try.
    """

    exit_code: int = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  try: {self.hint}"


def is_full(error: BaseException) -> bool:
    """Whether the system refused to write because there is no room, on the disk or for this user."""
    return isinstance(error, OSError) and error.errno in _FULL


def reason_of(error: BaseException) -> str:
    """What the system or a library says, but that a disk is full in words that everybody knows."""
    return DISK_IS_FULL if is_full(error) else str(getattr(error, "strerror", None) or error)


class PlanError(TrialwiseError):
    """An experiment file or a plan that cannot be carried out as written (exit code 2)."""


class StoreError(TrialwiseError):
    """An experiment directory that cannot be read, written or trusted (exit code 5)."""

    exit_code = 5


class TrialError(TrialwiseError):
    """A trial that could not be carried out (exit code 4)."""

    exit_code = 4


class WorkerError(TrialwiseError):
    """A worker that cannot be reached or used (exit code 6)."""

    exit_code = 6


class AnalysisError(TrialwiseError):
    """Data that an analysis cannot read or use (exit code 7)."""

    exit_code = 7


class StatisticsError(AnalysisError, ValueError):
    """Data or parameters that a statistic refuses (exit code 7): what it says is for users, which other errors of values are not."""
