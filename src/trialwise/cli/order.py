"""`trialwise order`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from trialwise.cli.defaults import gated
from trialwise.cli.files import write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.plots import check_percentage
from trialwise.cli.reading import ReadingOptions, refuse_told
from trialwise.cli.sources import Data, Factor, named_all
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import AnalysisError, TrialwiseError, not_written
from trialwise.experiment.ab_experiment import margin_of
from trialwise.experiment.model import Better, Method
from trialwise.numbers import as_given, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialwise.analysis.order.analysing import OrderOptions
    from trialwise.analysis.order.results import OrderAnalysis
    from trialwise.analysis.order.trials import OrderTrials

_CODES = {"order does not matter": 0, "order matters": 1, "undecided": 3}
_DATA_PROBLEMS = AnalysisError.exit_code


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """Which column of a table is what; by default those that are called so."""

    treatment: Annotated[str | None, Parameter(help="Column of treatments; default treatment or test.")] = (
        None
    )
    order: Annotated[
        str | None,
        Parameter(help="Column that says fixed or random; default order, without it all is random."),
    ] = None
    round: Annotated[str | None, Parameter(help="Column of rounds; default round or run.")] = None
    position: Annotated[str | None, Parameter(help="Column of positions in the round.")] = None
    value: Annotated[str | None, Parameter(help="Column of values.")] = None
    worker: Annotated[str | None, Parameter(help="Column of workers.")] = None
    metric: Annotated[
        tuple[str, ...],
        Parameter(help="Metric to analyse, repeatable; default all.", negative=""),
    ] = ()
    by: Annotated[
        tuple[str, ...],
        Parameter(
            help="Column whose values are analysed each by itself, as a hardware type; repeatable.",
            negative="",
        ),
    ] = ()
    family: Annotated[
        tuple[str, ...],
        Parameter(
            help="Column whose values are families of the correction; repeatable; default the metric.",
            negative="",
        ),
    ] = ()
    fixed: Annotated[str | None, Parameter(help="What the column of orders calls fixed order.")] = None
    random: Annotated[str | None, Parameter(help="What it calls random order.")] = None

    def given(self) -> bool:
        """True if any but the metric was given."""
        return self != ColumnOptions(metric=self.metric)


def order(
    *data: Data,
    correction: Literal["holm", "bonferroni", "none"] | None = None,
    alpha: float = 0.05,
    confidence: float = 95,
    margin: str = "1%",
    compare: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    better: Better | None = None,
    method: Method = "default",
    gate: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    csv: Path | None = None,
    latex: Path | None = None,
    svg: Path | None = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    factor: Factor = None,
    columns: ColumnOptions | None = None,
    reading: ReadingOptions | None = None,
) -> int:
    r"""Say whether the order in which treatments ran changes the results, and which predecessor does it.

    The data are an experiment directory, a Pantheon folder (also packed), files of a tool that say when each trial ran, or a CSV or
    Parquet file with a row for each trial: treatment (or test), order, round (or run), position, value, and if there are such also
    worker and metric. Fixed order is compared with random order; from random or balanced order alone, the effects of position, drift
    and predecessors are found.

    For example:

    ```text
    trialwise order memcached.results
    trialwise order trials.csv --by hardware --family benchmark \
        --correction bonferroni
    trialwise order trials.csv --compare ufs,ext4 --svg figures
    ```

    Exit codes: 0 done, and with --gate order does not matter (never by the paper's method, which has no margin); 1 with --gate it
    changes a result beyond the margin; 2 wrong options; 3 undecided; 5 a place that cannot be written; 7 data that cannot be read,
    also where only some rows are wrong (they are named, the rest is analysed).

    Parameters
    ----------
    data
        The experiment directory (also an imported one), a Pantheon folder (also packed), files or folders of a tool that
        `trialwise look` knows, or a CSV or Parquet file.
    correction
        For the number of comparisons in a family; default holm, in the paper's method bonferroni.
    alpha
        Level of each family, and of the verdict over all families and carry-over together, as a share.
    confidence
        Of intervals, in percent; of all pairs of carry-over together.
    margin
        The difference that would matter, in percent of the median under fixed order: 1%.
    compare
        Two treatments A,B whose comparison might change; repeatable. Default: all pairs of up to eight treatments.
    better
        Which direction wins a comparison: higher or lower; default what the experiment says of the metric, else higher.
    method
        "default", or "paper" for Kruskal-Wallis and the CI cases alone, as in the OrderSage paper.
    gate
        Exit with 1 where order changes a result beyond the margin.
    json
        Print the analysis as JSON (format trialwise.order/1, docs/reference/order-json.md).
    csv
        Write a row for each treatment to this file.
    latex
        Write a table in the form of the paper's to this file.
    svg
        Folder for figures for print.
    out
        Write a page with the figures, the carry-over matrix and the text to this HTML file.
    factor
        How names of files give factors, as '{cc}_{rep}.json'; default guessed where the files do not tell.
    """
    check_percentage(confidence, "--confidence")
    options = _options(correction, alpha, confidence, margin, compare, better, method)
    _check_places([csv, latex, out])
    with StatusLine(f"reading {named_all(data)}") as patience:
        trials = _read(data, columns or ColumnOptions(), reading or ReadingOptions(), factor)
        from trialwise.analysis.order.analysing import analyse_order

        patience.say(f"comparing orders over {counted(trials.table.height, 'trial')}")
        found = analyse_order(trials, options)
    _show(found, json=json)
    _write(found, trials, csv, latex, svg, out)
    if found.n_problems and json:
        stderr_console().print(
            f"{found.n_problems} rows are wrong, first: {found.problems[0].text}", markup=False
        )
    return _DATA_PROBLEMS if found.n_problems else gated(_CODES[found.verdict], gate=gate)


def _options(
    correction: Literal["holm", "bonferroni", "none"] | None,
    alpha: float,
    confidence: float,
    margin: str,
    compare: tuple[str, ...],
    better: Better | None,
    method: Method,
) -> OrderOptions:
    from trialwise.analysis.order.analysing import OrderOptions

    if not 0 < alpha < 1:
        raise TrialwiseError(
            f"--alpha {as_given(alpha)}: expected a share between 0 and 1", hint="0.05 is usual"
        )
    pairs: list[tuple[str, str]] = []
    for text in compare:
        first, comma, second = (part.strip() for part in text.partition(","))
        if not comma or not first or not second:
            raise TrialwiseError(f"--compare {text}: expected two treatments", hint="write --compare A,B")
        pairs.append((first, second))
    return OrderOptions(method, correction, alpha, confidence, _percentage(margin), tuple(pairs), better)


def _percentage(margin: str) -> float:
    """Return the number of a margin in percent; the percent sign is optional."""
    try:
        return margin_of(margin).value
    except ValueError as error:
        raise TrialwiseError(
            f"--margin {margin}: expected a percentage above 0", hint="write --margin 1%"
        ) from error


def _read(
    paths: Sequence[Path], columns: ColumnOptions, reading: ReadingOptions, factor: str | None
) -> OrderTrials:
    from trialwise.study.sources import TableFile, order_of, source

    told = columns.given() or reading.given()
    found = source(paths, factor, told=told)
    if not isinstance(found, TableFile):
        refuse_told(named_all(paths), given=told)
        return order_of(found, columns.metric)
    data = found.path
    from trialwise.analysis.order.trials import OrderColumns, read_order_table

    return read_order_table(
        data,
        OrderColumns(
            treatment=columns.treatment,
            order=columns.order,
            round=columns.round,
            position=columns.position,
            value=columns.value,
            worker=columns.worker,
            metrics=columns.metric,
            groups=columns.by,
            families=columns.family,
            fixed=columns.fixed,
            random=columns.random,
        ),
        reading.dialect(),
    )


def _check_places(places: list[Path | None]) -> None:
    for path in places:
        if path is not None and not path.parent.is_dir():
            raise TrialwiseError(
                f"{path}: there is no folder {path.parent}", hint="make it, or choose another place"
            )


def _show(found: OrderAnalysis, *, json: bool) -> None:
    if json:
        from trialwise.exchange.order_json import order_document

        print_json(order_document(found))
    else:
        from trialwise.report.documents.order import document

        say_document(document(found))


def _write(
    found: OrderAnalysis,
    trials: OrderTrials,
    csv: Path | None,
    latex: Path | None,
    svg: Path | None,
    out: Path | None,
) -> None:
    written: list[Path] = []
    try:
        if csv is not None:
            from trialwise.exchange.order_json import order_csv

            write_text(csv, order_csv(found))
            written.append(csv)
        if latex is not None:
            from trialwise.report.documents.order import table_for_print
            from trialwise.report.render.latex import latex_file

            write_text(latex, latex_file([table_for_print(found)], "trialwise order --latex"))
            written.append(latex)
        if svg is not None or out is not None:
            written += _draw(found, trials, svg, out)
    except OSError as error:
        raise not_written(error.filename or data_name(found), error) from error
    for path in written:
        stderr_console().print(f"wrote {path}", markup=False)


def _draw(found: OrderAnalysis, trials: OrderTrials, svg: Path | None, out: Path | None) -> list[Path]:
    from trialwise.analysis.order.summary import view_of

    view, written = view_of(trials, found), list[Path]()
    if svg is not None:
        from trialwise.report.printed import write_order_figures

        written += write_order_figures(view, svg, "svg")
    if out is not None:
        from trialwise.report.html import order_page

        write_text(out, order_page(view))
        written.append(out)
    return written


def data_name(found: OrderAnalysis) -> str:
    """Return the name of the analysed data, for messages."""
    return found.source
