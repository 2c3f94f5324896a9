"""What a comparison can find; apart from the tests, so that a screen can name it without them."""

from __future__ import annotations

from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["different", "equivalent", "undecided"]
