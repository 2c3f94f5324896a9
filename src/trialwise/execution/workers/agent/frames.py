"""Frames: a line of JSON, then as many raw bytes as its key "bytes" says."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    Json = dict[str, Any]


def read_frame(stream: BinaryIO) -> tuple[Json, bytes] | None:
    """Read the next frame; None at the end of the stream."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    head = json.loads(line)
    wanted = int(head.get("bytes", 0))
    body = stream.read(wanted) if wanted else b""
    return None if len(body) < wanted else (head, body)


def frame(head: Json, body: bytes = b"") -> bytes:
    """Return the bytes of a frame."""
    if body:
        head = dict(head, bytes=len(body))
    return json.dumps(head).encode() + b"\n" + body
