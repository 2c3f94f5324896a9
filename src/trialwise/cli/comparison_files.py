"""The files that `compare` writes in addition to its output."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.files import STANDARD, write_text
from trialwise.cli.text import print_data
from trialwise.errors import TrialwiseError, not_written

if TYPE_CHECKING:
    from trialwise.analysis.comparison.ranking import Ranking
    from trialwise.analysis.comparison.results import Comparison
    from trialwise.analysis.trial_set import TrialSet
    from trialwise.report.documents.compare import Order
    from trialwise.report.figures.plot_data import ColumnData


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """What is written beside what is printed."""

    markdown: Annotated[
        Path | None,
        Parameter(
            help="Write a summary for a pull request to this file, or - for the output.",
            allow_leading_hyphen=True,
        ),
    ] = None
    junit: Annotated[Path | None, Parameter(help="Write the rows as test cases (JUnit XML).")] = None
    bmf: Annotated[Path | None, Parameter(help="Write side B in the Bencher Metric Format (JSON).")] = None
    csv: Annotated[Path | None, Parameter(help="Write a row for each treatment and metric.")] = None
    latex: Annotated[Path | None, Parameter(help="Write a table for LaTeX (booktabs).")] = None
    svg: Annotated[Path | None, Parameter(help="Folder for figures for print.")] = None

    @property
    def fill_output(self) -> bool:
        """True if a file replaces the output."""
        return self.markdown == STANDARD

    @property
    def of_pairs(self) -> dict[str, Path | None]:
        """Return the files about the comparison of two sides, by option; their figures include ranks of one side, too."""
        return {
            "--markdown": self.markdown,
            "--junit": self.junit,
            "--bmf": self.bmf,
            "--csv": self.csv,
            "--latex": self.latex,
        }

    def check(self) -> None:
        """Refuse paths without an existing folder, before anything is computed.

        Raises
        ------
        TrialwiseError
            A folder does not exist.
        """
        for path in self.of_pairs.values():
            if path is not None and not path.parent.is_dir():
                raise TrialwiseError(
                    f"{path}: there is no folder {path.parent}", hint="make it, or choose another place"
                )

    def write(
        self,
        found: Comparison | None,
        rankings: Sequence[Ranking],
        sides: Sequence[TrialSet],
        *,
        paper: bool,
        order: Order = "verdict",
    ) -> list[Path]:
        """Write the requested files, and return their paths; without a comparison only the figures of ranks.

        Raises
        ------
        StoreError
            A file cannot be written.
        """
        written: list[Path] = []
        try:
            for path, text in self._texts(found, paper=paper, order=order) if found else ():
                if path == STANDARD:
                    print_data(text())
                else:
                    write_text(path, text())
                    written.append(path)
            if self.svg is not None:
                from trialwise.report.figures.compared import compared_figures
                from trialwise.report.figures.paint import write_all

                sheets: dict[str, ColumnData] = {}
                figures = compared_figures(found, rankings, sides, sheets)
                written += write_all(figures, sheets, self.svg, "svg")
        except OSError as error:
            raise not_written(error.filename, error) from error
        return written

    def _texts(
        self, found: Comparison, *, paper: bool, order: Order
    ) -> Iterator[tuple[Path, Callable[[], str]]]:
        from trialwise.exchange.comparison_json import bencher_document, comparison_csv
        from trialwise.report.comparison_junit import comparison_junit
        from trialwise.report.documents import compare
        from trialwise.report.render.latex import latex_file
        from trialwise.report.render.markdown import markdown

        if self.markdown is not None:
            yield self.markdown, lambda: markdown(compare.document(found, has_gate=True, order=order))
        if self.junit is not None:
            yield self.junit, lambda: comparison_junit(found, datetime.now(UTC))
        if self.bmf is not None:
            yield self.bmf, lambda: json.dumps(bencher_document(found), indent=2, allow_nan=False) + "\n"
        if self.csv is not None:
            yield self.csv, lambda: comparison_csv(found)
        if self.latex is not None:
            table = compare.paper_table(found) if paper else compare.table_for_print(found)
            yield self.latex, lambda: latex_file([table], "trialwise compare --latex")
