"""Reads a report as the tests ask about it."""

from __future__ import annotations

from html.parser import HTMLParser

Attributes = dict[str, str | None]


class ReportPage(HTMLParser):
    """The elements of a page, and its numbers as (JSON pointer, rounding, text); `place` is the attribute of pointers."""

    def __init__(self, text: str, place: str = "data-path") -> None:
        super().__init__()
        self._place = place
        self.tags: list[tuple[str, Attributes]] = []
        self.numbers: list[tuple[str, str, str]] = []
        self._open: tuple[str, str] | None = None
        self.feed(text)

    @property
    def figures(self) -> list[Attributes]:
        """The places of figures."""
        return [attributes for _, attributes in self.tags if "data-figure" in attributes]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if self._place in attributes:
            self._open = (attributes[self._place] or "", attributes["data-rounding"] or "")

    def handle_data(self, data: str) -> None:
        if self._open:
            self.numbers.append((*self._open, data))
            self._open = None
