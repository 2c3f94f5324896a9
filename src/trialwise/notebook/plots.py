"""Figures of a result in a notebook, and as files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from trialwise.errors import AnalysisError, not_written
from trialwise.report.document import Figure
from trialwise.report.figures import paint
from trialwise.report.figures.plot_data import ColumnData

ENDINGS = (".svg", ".png", ".pdf")


class Plot:
    """A figure of the report as it is printed: one column wide, black on white, with its description as alternative text."""

    def __init__(self, figures: Sequence[Figure], sheets: Mapping[str, ColumnData]) -> None:
        self._figures = figures
        self._sheets = sheets

    @property
    def title(self) -> str:
        """What the figure shows."""
        return "; ".join(dict.fromkeys(figure.title for figure in self._figures))

    @property
    def caption(self) -> str:
        """How to read the figure."""
        return " ".join(dict.fromkeys(figure.caption for figure in self._figures))

    def save(self, path: str | Path) -> Path:
        """Write the figure; the ending of the path, .svg, .png or .pdf, determines the format. Return the path.

        Raises
        ------
        AnalysisError
            The ending is another one.
        StoreError
            The file cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() not in ENDINGS:
            raise AnalysisError(
                f"{path}: the ending says the format", hint=f"write one of {', '.join(ENDINGS)}"
            )
        try:
            paint.write(self._figures, self._sheets, path)
        except OSError as error:
            raise not_written(path, error) from error
        return path

    def _repr_svg_(self) -> str:
        return paint.svg(self._figures, self._sheets)

    def __repr__(self) -> str:
        return f"<plot: {self.title}>"


class Plots(Mapping[str, Plot]):
    """The figures of a result by name, in the order of the report; a notebook shows one by its name."""

    def __init__(self, figures: Iterable[Figure], sheets: Mapping[str, ColumnData]) -> None:
        self._named: dict[str, list[Figure]] = {}
        for figure in figures:
            self._named.setdefault(figure.file or figure.key, []).append(figure)
        self._sheets = sheets

    def __getitem__(self, name: str) -> Plot:
        """Return a figure.

        Raises
        ------
        AnalysisError
            There is none of this name.
        """
        if name not in self._named:
            there = ", ".join(self._named) or "none"
            raise AnalysisError(f"there is no figure {name!r} of these data", hint=f"there are: {there}")
        return Plot(self._named[name], self._sheets)

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def __repr__(self) -> str:
        return f"<plots: {', '.join(self._named) or 'none'}>"
