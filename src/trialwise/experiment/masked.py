"""What is said of secrets that trials and services printed: by whoever masks them, and to whoever counts them."""

from __future__ import annotations

from collections.abc import Collection

MASKED = "masked in what is kept"
"""How the remark on them ends."""


def told_of(names: Collection[str]) -> str:
    """Say which secrets a trial or a service printed or wrote."""
    listed = ", ".join(sorted(names))
    return f"printed or wrote the secret{'s' if len(names) > 1 else ''} {listed}, {MASKED}"
