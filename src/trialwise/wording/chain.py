"""The chain of a ledger in words."""

from __future__ import annotations

from trialwise.store.records import Head


def head_text(head: Head) -> str:
    """Name the last link of the chain: who has this line notices later that a row was changed, or taken off the end."""
    return f"ledger head {head.hash}, {head.rows} row{'' if head.rows == 1 else 's'}"
