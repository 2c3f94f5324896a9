"""Seeds derived from names, never from call order: adding a treatment changes no other trial's seed."""

from __future__ import annotations

import hashlib


def seed_of(root: int, *names: str | int) -> int:
    """Return the 63-bit seed of the part of an experiment that `names` identify.

    It consists of the first eight bytes of SHA-256 over the root and the names, each prefixed by its length, so that no two lists of
    names give the same text; 63 bits, because SQLite's integers are signed.
    """
    parts = [str(part) for part in (root, *names)]
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
