"""The errors that Trialwise raises: what happened, where, and what to try."""

from __future__ import annotations

import errno
import os

from trialwise.visible import visible_lines

DISK_IS_FULL = "the disk is full"
MAKE_ROOM = "free some space, or choose another place"
GO_ELSEWHERE = "choose another place: one that you may write to"
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
_FULL = (errno.ENOSPC, errno.EDQUOT)


class TrialwiseError(Exception):
    """Base of all errors that a user can act on.

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

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows in place of a traceback; IPython asks for them."""
        tried = [] if self.hint is None else [f"  try: {visible_lines(self.hint)}"]
        return [f"{type(self).__name__}: {visible_lines(self.message)}", *tried]

    @property
    def line(self) -> str:
        """Message and hint in one line."""
        return self.message if self.hint is None else f"{self.message}; {self.hint}"


def is_full(error: BaseException) -> bool:
    """Return True if the system refused to write for lack of room, on the disk or in this user's quota."""
    return isinstance(error, OSError) and error.errno in _FULL


def reason_of(error: BaseException) -> str:
    """Return the message of the system or a library, with a full disk described in plain words."""
    return DISK_IS_FULL if is_full(error) else str(getattr(error, "strerror", None) or error)


class PlanError(TrialwiseError):
    """An experiment file or plan that cannot be carried out as written (exit code 2)."""


class StoreError(TrialwiseError):
    """An experiment directory that cannot be read, written or trusted (exit code 5)."""

    exit_code = 5


def not_written(
    place: object, error: Exception, *, kind: type[TrialwiseError] = StoreError, hint: str | None = None
) -> TrialwiseError:
    """Return the error for a file that could not be written.

    Parameters
    ----------
    place
        What was being written: a path or a name.
    error
        The error of the system or of a library.
    kind
        Class of the returned error, which determines the exit code.
    hint
        What to try; default what the reason asks for.
    """
    folder = os.path.dirname(str(place)) or "."  # noqa: PTH120 importing pathlib takes longer
    reason = DISK_IS_FULL if has_no_room(folder) else reason_of(error)
    is_denied = reason != DISK_IS_FULL and getattr(error, "errno", None) in _DENIED
    return kind(
        f"{place}: cannot be written: {reason}", hint=hint or (GO_ELSEWHERE if is_denied else MAKE_ROOM)
    )


def has_no_room(folder: str) -> bool:
    """Return True if there is no room in this folder: the error of a library or program does not always say that the disk is full."""
    try:
        return os.statvfs(folder).f_bavail == 0
    except OSError:
        return False


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
    """Data or parameters that a statistic rejects (exit code 7). Its message is for users, unlike that of other ValueErrors."""
