"""A result in a notebook: the record that a command computed, its document, its JSON and its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Generic, TypeVar

from trialwise.errors import not_written
from trialwise.notebook.plots import Plot, Plots
from trialwise.report.document import Document, Figure, plain
from trialwise.report.figures.plot_data import ColumnData
from trialwise.visible import visible_lines

Record = TypeVar("Record")
Draw = Callable[[dict[str, ColumnData]], Iterable[Figure]]
_FRAME = (
    '<iframe srcdoc="{}" style="width: 100%; height: {}px; border: 1px solid #d4d9df" title="Report" '
    'sandbox="allow-scripts allow-downloads"></iframe>'
)


class Result(Generic[Record]):
    """What a command found: a notebook shows its document, `print` its whole text.

    Attributes
    ----------
    record
        The record with every number.
    document
        What is said of it: an answer, the evidence, the method.
    """

    def __init__(
        self,
        record: Record,
        document: Document,
        to_json: Callable[[], Mapping[str, object]],
        draw: Draw | None = None,
    ) -> None:
        self.record = record
        self.document = document
        self._to_json = to_json
        self._draw = draw

    @property
    def answer(self) -> str:
        """The answer in one sentence."""
        return visible_lines(plain(self.document.answer.text))

    def json(self) -> Mapping[str, object]:
        """Return what the command prints with `--json`; NaN and infinities are None."""
        return self._to_json()

    @cached_property
    def plots(self) -> Mapping[str, Plot]:
        """The figures, by name."""
        sheets: dict[str, ColumnData] = {}
        return Plots(list(self._draw(sheets)) if self._draw is not None else [], sheets)

    def __repr__(self) -> str:
        return f"<{self.document.key}: {self.answer}>"

    def __str__(self) -> str:
        from trialwise.report.render.terminal import terminal

        lines = terminal(self.document, None, full=True)
        return "\n".join("".join(span.text for span in line) for line in lines)

    def _repr_html_(self) -> str:
        from trialwise.report.html import section

        return section(self.document)


class Page:
    """A whole page, such as the report: a notebook shows it in a frame."""

    def __init__(self, text: str) -> None:
        self._text = text

    def save(self, path: str | Path) -> Path:
        """Write the page as one HTML file, and return the path.

        Raises
        ------
        StoreError
            The file cannot be written.
        """
        path = Path(path)
        try:
            path.write_text(self._text, encoding="utf-8")
        except OSError as error:
            raise not_written(path, error) from error
        return path

    def __repr__(self) -> str:
        return f"<page: {len(self._text) // 1000} kB of HTML>"

    def _repr_html_(self, height: int = 640) -> str:
        return _FRAME.format(escape(self._text), height)
