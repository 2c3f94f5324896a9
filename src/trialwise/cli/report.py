"""`trialwise report`."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise import __version__
from trialwise.cli.files import check_printed, write_text
from trialwise.cli.output import stderr_console
from trialwise.cli.reading import ReadingOptions
from trialwise.cli.sources import Data, Factor, named_all
from trialwise.cli.spinner import StatusLine
from trialwise.cli.tables import TableOptions, analysis_of, controls_given, source_of
from trialwise.cli.verdicts import verdicts_between
from trialwise.errors import TrialwiseError, not_written
from trialwise.experiment.model import Method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialwise.analysis.comparison.between import VerdictSummary
    from trialwise.analysis.order.summary import OrderSummary
    from trialwise.analysis.results import Analysis
    from trialwise.study.sources import Source


def report(
    *data: Data,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    pdf: Path | None = None,
    svg: Path | None = None,
    latex: Path | None = None,
    plane: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    margin: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    all_trials: Annotated[bool, Parameter(negative="")] = False,
    method: Method = "default",
    controls: str | None = None,
    open: Annotated[bool, Parameter(negative="")] = False,  # noqa: A002 the flag's name
    factor: Factor = None,
    table: TableOptions | None = None,
    reading: ReadingOptions | None = None,
) -> int:
    r"""Write the report of an experiment, of result files of other tools, or of a table, as one HTML file.

    The file opens from disk without a network: claims that can be pasted, figures, verdicts between treatments and what says
    when to stop, whether the order of trials matters, every table, the plan, the environment, the failures, the methods.

    For example:

    ```text
    trialwise report compressors.results
    trialwise report compressors.results --pdf figures --latex paper
    trialwise report runs.csv --value delay --group scheme \
        --objective percentile=75,confidence=95
    ```

    Exit codes: 0 written; 2 wrong options, 5 a place that cannot be written, 7 data that cannot be read.

    Parameters
    ----------
    data
        The experiment directory (also an imported one), a Pantheon folder (also packed), files or folders of a tool that
        `trialwise look` knows, or a CSV or Parquet file.
    out
        The HTML file; default report.html in the directory, or NAME.report.html beside other data.
    pdf
        Folder for figures for print, one column wide, as PDF; of paths and simulations also report.pdf: what ran, planes or
        estimates, tables, and trials over time.
    svg
        Folder for the same figures as SVG.
    latex
        Folder for numbers.tex, claims.tex and tables.tex.
    plane
        Two metrics X,Y whose KPIs span a plane, X across; repeatable. Default: the pairs of the first three metrics with a KPI.
    margin
        The largest difference between treatments that does not matter: 3% of the mean, or METRIC=0.5 in the metric's unit;
        repeatable. Default what the experiment file says.
    all_trials
        Print every trial of a path over time, not only the first 16.
    method
        "default", or "paper" for the methods of the TriScale paper.
    controls
        Control variates of the estimates of simulated trials: none, workload, or engines of estimates with commas between, as in
        fluid, for the metric by each from the same flows too;
        default: those that a metric stops by, else workload from 200 trials of a treatment on.
    open
        Open the report in the browser.
    factor
        How names of files give factors, as '{cc}_{rep}.json'; default guessed where the files do not tell.
    """
    page = out or data[0]
    for folder in filter(None, (pdf, svg)):
        check_printed(folder)
    try:
        with StatusLine(f"analysing {named_all(data)}") as patience:
            table, reading = table or TableOptions(), reading or ReadingOptions()
            source = source_of(data, table, reading, factor)
            page = out or _page_of(data[0], source)
            analysis = analysis_of(
                source,
                table,
                method,
                reading=reading,
                all_trials=all_trials,
                controls=controls_given(controls),
                watch=patience.drawing,
                told=patience.going,
            )
            patience.say(f"comparing orders over {analysis.planned} trials")
            order = _order(source)
            patience.say(f"comparing treatments over {analysis.planned} trials")
            verdicts = verdicts_between(source, analysis, table, reading, patience, margin)
            patience.say(f"drawing the report of {analysis.planned} trials")
            written = _write(analysis, order, verdicts, page, pdf, svg, latex, _planes(plane))
    except OSError as error:
        raise not_written(error.filename or page, error) from error
    for path in written:
        stderr_console().print(f"wrote {path}", markup=False)
    if open:
        webbrowser.open(page.resolve().as_uri())
    return 0


def _planes(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for text in texts:
        across, comma, up = (part.strip() for part in text.partition(","))
        if not comma or not across or not up:
            raise TrialwiseError(
                f"--plane {text}: expected two metrics", hint="write --plane delay,throughput"
            )
        found.append((across, up))
    return found


def _page_of(data: Path, source: Source) -> Path:
    """Return the path of the report: in an experiment directory, or next to other data."""
    from trialwise.study.sources import Directory

    if isinstance(source, Directory):
        return data / "report.html"
    if data.is_dir() and data.name in ("", ".."):  # as of `.`
        data = data.resolve()
    return data.with_name(f"{data.name if data.is_dir() else data.stem}.report.html")


def _order(source: Source) -> OrderSummary:
    from trialwise.analysis.order.summary import NOT_FROM_TABLE, OrderSummary
    from trialwise.study.sources import TableFile, order_summary

    return OrderSummary(None, NOT_FROM_TABLE) if isinstance(source, TableFile) else order_summary(source)


def _write(
    analysis: Analysis,
    order: OrderSummary,
    verdicts: VerdictSummary | None,
    page: Path,
    pdf: Path | None,
    svg: Path | None,
    latex: Path | None,
    planes: Sequence[tuple[str, str]],
) -> list[Path]:
    from trialwise.exchange.comparison_json import comparison_csv
    from trialwise.report.html import html_report

    compared = verdicts and verdicts.comparison
    pairs = comparison_csv(compared) if compared and compared.rows else ""
    write_text(page, html_report(analysis, __version__, order, verdicts, pairs, planes))
    written = [page]
    if pdf or svg:
        from trialwise.report.printed import print_figures

        written += print_figures(analysis, pdf, "pdf", __version__, order, verdicts, planes) if pdf else []
        written += print_figures(analysis, svg, "svg", "", order, verdicts, planes) if svg else []
    if latex:
        written += _write_latex(analysis, order, verdicts, latex)
    return written


def _write_latex(
    analysis: Analysis, order: OrderSummary, verdicts: VerdictSummary | None, folder: Path
) -> list[Path]:
    from trialwise.report.latex import latex_files

    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, text in latex_files(analysis, order, verdicts).items():
        write_text(folder / name, text)
        written.append(folder / name)
    return written
