"""The reason that somebody gives for what they change in a begun experiment."""

from __future__ import annotations

from trialwise.errors import PlanError
from trialwise.visible import visible

_MOST = 2000
"""Characters of a reason."""


def checked_reason(because: str, *, without: str = "", example: str = "") -> str:
    """Return a reason, made harmless to read.

    Raises
    ------
    PlanError
        It is too long; or there is none and one is needed, where `without` says why, and `example` what to write.
    """
    reason = visible(because.strip())
    if not reason and without:
        raise PlanError(without, hint=f'say it: --because "{example}"')
    if len(reason) > _MOST:
        raise PlanError(f"the reason has {len(reason)} characters; {_MOST} are kept", hint="shorten it")
    return reason
