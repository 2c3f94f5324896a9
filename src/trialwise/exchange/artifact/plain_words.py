"""Words of others in Markdown: shown as they are, and without a meaning there."""

from __future__ import annotations

from trialwise.visible import visible


def plain(text: str) -> str:
    """Return a text that Markdown neither takes for HTML nor for code, without control characters."""
    return visible(text).replace("<", "&lt;").replace("`", "'")
