"""Breaks Markdown at the width of prose, as every source of the documentation is, the generated ones too."""

from __future__ import annotations

import re

WIDTH = 118
"""Below what tests/unit/docs/test_line_length.py allows."""
_PIECE = re.compile(r"(?:`[^`]*`|[^\s`])+|`\S*")
"""What no line is broken within: a word, or code with what adheres to it."""
_OPENS = re.compile(r"(?:[+*>|]|-+|=+|#+|\d+[.)]|:+)(?!\S)|[>|~]")
"""What would begin a block of its own at the beginning of a line."""


def wrapped(text: str, head: str = "", indent: str | None = None) -> list[str]:
    """Return the lines of a paragraph or item, which begins with `head`; code stays on a line where it fits on one."""
    indent = " " * (len(head) - len(head.lstrip()) + 2) if indent is None else indent
    lines = [head]
    for piece in _pieces(text, WIDTH - len(indent)):
        line = lines[-1]
        is_empty = line in {head, indent}
        joined = line + piece if is_empty else f"{line} {piece}"
        if len(joined) <= WIDTH or is_empty:
            lines[-1] = joined
        else:
            lines.append(indent + piece)
    return lines


def _pieces(text: str, room: int) -> list[str]:
    """Return the words and pieces of code; longer code word by word, what would open a block with its neighbour."""
    found: list[str] = []
    for piece in _PIECE.findall(" ".join(text.split())):
        for part in [piece] if len(piece) <= room else piece.split(" "):
            if found and _OPENS.match(part):
                found[-1] += f" {part}"
            else:
                found.append(part)
    return found
