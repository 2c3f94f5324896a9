"""Reads a report as the tests ask about it."""

from __future__ import annotations

from html.parser import HTMLParser

Attributes = dict[str, str | None]


class ReportPage(HTMLParser):
    """The elements of a page, and its numbers as (JSON pointer, rounding, text, power); `place` is the attribute of pointers."""

    def __init__(self, text: str, place: str = "data-path") -> None:
        super().__init__()
        self._place = place
        self.tags: list[tuple[str, Attributes]] = []
        self.numbers: list[tuple[str, str, str, int]] = []
        self._open: tuple[str, str, int] | None = None
        self.feed(text)

    @property
    def figures(self) -> list[Attributes]:
        """The places of figures."""
        return [attributes for _, attributes in self.tags if "data-figure" in attributes]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if self._place in attributes:
            power = int(attributes.get("data-power") or 0)
            self._open = (attributes[self._place] or "", attributes["data-rounding"] or "", power)

    def handle_data(self, data: str) -> None:
        if self._open:
            pointer, rounding, power = self._open
            self.numbers.append((pointer, rounding, data, power))
            self._open = None
