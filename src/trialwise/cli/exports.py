"""`--export FILE`: a result as its ending says, from the same document and numbers as what is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.cli.files import check_out, write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.errors import TrialwiseError
from trialwise.whole_files import whole_file

if TYPE_CHECKING:
    from trialwise.analysis.versions.results import SuiteResult, VersionsResult
    from trialwise.report.document import Document

ENDINGS = (".md", ".csv", ".json", ".html", ".svg")
Content = Callable[[], Mapping[str, object]]


def check(paths: Sequence[Path]) -> None:
    """Refuse files that could not be written, before anything runs.

    Raises
    ------
    TrialwiseError
        An ending is unknown, there is no such folder, or what draws figures is not installed.
    """
    for path in paths:
        if path.suffix.lower() not in ENDINGS:
            raise TrialwiseError(
                f"--export {path}: the ending says the format", hint=f"there are {', '.join(ENDINGS)}"
            )
        check_out(path, force=True)


def write(
    paths: Sequence[Path], found: VersionsResult | SuiteResult, document: Document, content: Content
) -> None:
    """Write a result to each file.

    Raises
    ------
    StoreError
        A file cannot be written.
    TrialwiseError
        The result has nothing to draw, or no rows.
    """
    for path in paths:
        match path.suffix.lower():
            case ".md":
                from trialwise.report.render.markdown import markdown

                write_text(path, markdown(document, full=True))
            case ".json":
                text = StringIO()
                print_json(content(), to=text)
                write_text(path, text.getvalue())
            case ".csv":
                write_text(path, _csv(path, found))
            case ".html":
                write_text(path, _page(found, document))
            case _:
                _draw(path, found)
        stderr_console().print(f"wrote {path}", markup=False)


def _csv(path: Path, found: VersionsResult | SuiteResult) -> str:
    from trialwise.exchange.versions_json import versions_csv

    if found.comparison is None:
        raise TrialwiseError(f"--export {path}: no version has values")
    return versions_csv(found)


def _page(found: VersionsResult | SuiteResult, document: Document) -> str:
    from trialwise.report.document import Figures
    from trialwise.report.figures.plot_data import ColumnData
    from trialwise.report.figures.versions import versions_figures
    from trialwise.report.html import page

    sheets: dict[str, ColumnData] = {}
    figures = tuple(versions_figures(found, sheets))
    if figures:
        document = replace(document, evidence=(*document.evidence, Figures("Intervals", figures)))
    return page(document, sheets, title="trialwise ab", numbers="")


def _draw(path: Path, found: VersionsResult | SuiteResult) -> None:
    from trialwise.report.figures import paint
    from trialwise.report.figures.plot_data import ColumnData
    from trialwise.report.figures.versions import versions_figures

    sheets: dict[str, ColumnData] = {}
    figures = list(versions_figures(found, sheets))
    if not figures:
        raise TrialwiseError(f"--export {path}: nothing has an interval that could be drawn")
    with whole_file(path) as aside:
        paint.write(figures[:1], sheets, aside)
