"""Make foreign text harmless to read; the one place that decides which characters are shown as escapes."""

from __future__ import annotations

import json
import re
import unicodedata

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: terminals interpret them as commands
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks, embeddings, overrides and isolates (UAX 9)
    "\u2028\u2029\ufeff\ufff9-\ufffb"  # separate line ends, byte-order mark, annotations
    "\ud800-\udfff\U000e0000-\U000e007f]"  # unpaired surrogates, invisible tags
)


def visible(text: str) -> str:
    r"""Return the text with every character that could act on a terminal or a page escaped: `\x1b`, `\u202e`.

    This includes line ends and tabs. Visible text stays as it is.
    """
    return _UNSAFE.sub(_escape, text) if _UNSAFE.search(text) else text


def visible_lines(text: str) -> str:
    """Return the text with everything but its line ends and tabs made visible; for our own text that holds foreign names."""
    return _UNSAFE.sub(lambda found: found[0] if found[0] in "\n\t" else _escape(found), text)


def visible_json(text: str) -> str:
    """Return JSON text with every such character inside strings escaped as in JSON: the same document, harmless to show."""
    return _UNSAFE.sub(lambda found: found[0] if found[0] in "\n\t" else _json_escape(found), text)


def cell_width(text: str) -> int:
    """Count the columns that a terminal needs for visible text: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if ord(found[0]) > 0x7F else f"\\u{ord(found[0]):04x}"


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
