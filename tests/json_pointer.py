"""RFC 6901, as far as the tests need it."""

from __future__ import annotations

from typing import Any


def resolve(document: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document
