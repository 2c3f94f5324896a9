"""Who changes a ledger."""

from __future__ import annotations

import getpass

from trialwise.visible import visible

_MAX_NAME = 100


def user_name() -> str:
    """Return the name of the user whose process this is; "unknown" if the system has none."""
    try:
        return visible(getpass.getuser())[:_MAX_NAME]
    except (OSError, KeyError, ImportError):
        return "unknown"
