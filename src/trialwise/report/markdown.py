"""Foreign text in Markdown: shown as it is, without markup, mentions or links."""

from __future__ import annotations

import re

from trialwise.visible import visible

_MARKUP = re.compile(r"([\\`*_{}\[\]|#~!])")
_LIVE = re.compile(r"@|://|www(?=\.)|#(?=\d)|GH-(?=\d)", re.IGNORECASE)
"""What forges make of text, also of escaped text: mentions, links, references to issues (which notify those who follow them)."""
_ZERO_WIDTH_SPACE = "\u200b"


def markdown_text(text: str) -> str:
    """Return a text that Markdown shows as it is, also in the cell of a table, without mentions, links and references."""
    shown = _LIVE.sub(lambda found: found[0][:1] + _ZERO_WIDTH_SPACE + found[0][1:], visible(text))
    return _MARKUP.sub(r"\\\1", shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def markdown_code(text: str) -> str:
    """Return a text as inline code."""
    return f"`{visible(text).replace('`', chr(39))}`"
