"""How files and options name a machine: this one, or one that ssh reaches."""

from __future__ import annotations

import re

LOCAL = "local"
HOW_TO_NAME = "write local, ssh://host, or ssh://user@host:port; host may be a name of your ssh configuration"
_SSH = re.compile(
    r"ssh://(?:(?P<user>[^@/\s:]+)@)?(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[^@/\s:\[\]]+)(?::(?P<port>\d{1,5}))?/?"
)


def machine_named(text: str) -> tuple[str | None, str | None, int | None] | None:
    """Return host (None: this machine), user and port of a machine; None if the text names none."""
    if text == LOCAL:
        return None, None, None
    match = _SSH.fullmatch(text)
    port = int(match["port"] or 22) if match else 0
    if match is None or not 0 < port < 65536 or match["host"].startswith("-"):
        return None
    return match["host"].strip("[]"), match["user"], int(match["port"]) if match["port"] else None
