"""`trialwise analyze`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.reading import ReadingOptions
from trialwise.cli.sources import Data, Factor, named_all
from trialwise.cli.spinner import StatusLine
from trialwise.cli.tables import TableOptions, analysis_of, controls_given, source_of
from trialwise.cli.text import print_data, say_document
from trialwise.cli.verdicts import verdicts_between
from trialwise.experiment.model import Levels, Method

if TYPE_CHECKING:
    from trialwise.analysis.comparison.between import VerdictSummary
    from trialwise.analysis.results import Analysis
    from trialwise.study.documents import StoppingDocument
    from trialwise.study.sources import Source


def analyze(
    *data: Data,
    method: Method = "default",
    json: Annotated[bool, Parameter(negative="")] = False,
    csv: Annotated[bool, Parameter(negative="")] = False,
    latex: Annotated[bool, Parameter(negative="")] = False,
    full: Annotated[bool, Parameter(negative="")] = False,
    controls: str | None = None,
    levels: Levels | None = None,
    lists_within: str | None = None,
    factor: Factor = None,
    table: TableOptions | None = None,
    reading: ReadingOptions | None = None,
) -> int:
    r"""Analyse an experiment directory, result files of other tools, or a table of measurements (CSV or Parquet, long form).

    Says what can be claimed, what is descriptive only and why, and what would lift a refusal.

    For example:

    ```text
    trialwise analyze compressors.results
    trialwise analyze compressors.results --json
    trialwise analyze base.json head.json --objective percentile=50
    trialwise analyze runs.csv --value delay --group scheme \
        --objective percentile=75,confidence=95
    trialwise analyze samples.csv --value delay --trial run --time t \
        --measure p95 --convergence 95,5
    trialwise analyze runs.csv --value rate --value delay \
        --objective rate=percentile=25 --objective delay=percentile=75
    trialwise analyze kpis.csv --value speed --variability 75,95
    ```

    Exit codes: 0 also on constant data, failed tests and refusals; 2 wrong options, 5 a directory that cannot be used,
    7 data that cannot be read.

    Parameters
    ----------
    data
        The experiment directory (also an imported one), a Pantheon folder (also packed), files or folders of a tool that
        `trialwise look` knows, or a CSV or Parquet file.
    method
        "default", or "paper" for the methods of the TriScale paper.
    json
        Print the whole analysis as JSON (docs/reference/analysis-json.md).
    csv
        Print one row for each trial as CSV.
    latex
        Print the tables for LaTeX.
    full
        Print every sentence and table instead of an overview.
    controls
        Control variates of simulated trials: workload (number of flows, their bytes, the largest flow), engines of estimates as
        in fluid or fluid,links (also the metric by each from the same flows), or none; default those that a metric stops by, else
        workload from 200 trials of a treatment on.
    levels
        How many lists engines simulate that do so list by list: fixed (400), or auto, for which a pilot of 50 lists measures variances
        and costs, leaves out engines that do not pay, and shares out lists; default what the metric's stop says, else 50 to 400,
        as pay beside the trials that there are.
    lists_within
        About how long the lists of one engine and treatment may take on one core, as in 10s; default 20s for the fluid model. Fewer
        lists make the interval wider.
    factor
        How names of files give factors, as '{cc}_{rep}.json'; default guessed where the files do not tell.
    """
    table, reading = table or TableOptions(), reading or ReadingOptions()
    with StatusLine(f"analysing {named_all(data)}") as patience:
        source = source_of(data, table, reading, factor)
        analysis = analysis_of(
            source,
            table,
            method,
            reading=reading,
            controls=controls_given(controls),
            levels=levels,
            lists_within=lists_within,
            watch=patience.drawing,
            told=patience.going,
            overview=not (json or latex or full),
        )
        is_told = not (json or csv or latex)
        claims = _awaited_claims(source, patience) if is_told else None
        verdicts = _verdicts(source, analysis, table, reading, patience) if is_told else None
    if json:
        from trialwise.exchange.analysis_json import analysis_texts

        sys.stdout.writelines(analysis_texts(analysis))
    elif csv:
        from trialwise.exchange.trials_csv import trials_csv

        print_data(trials_csv(analysis))
    elif latex:
        from trialwise.report.latex import latex_files

        print_data(latex_files(analysis)["tables.tex"])
    else:
        from trialwise.report.documents.analyze import document
        from trialwise.report.documents.stopping import awaited_blocks

        awaited = () if claims is None else awaited_blocks(claims, claims.lifts)
        told = document(analysis, full=full, awaited=awaited, verdicts=verdicts)
        say_document(told, full=full, rest="--full")
    return 0


def _verdicts(
    source: Source,
    analysis: Analysis,
    table: TableOptions,
    reading: ReadingOptions,
    patience: StatusLine,
) -> VerdictSummary | None:
    """Return the verdicts between treatments where they are the answer."""
    from trialwise.report.documents.analyze import asks_which_is_best

    if not asks_which_is_best(analysis):
        return None
    patience.say(f"comparing treatments over {analysis.planned} trials")
    return verdicts_between(source, analysis, table, reading, patience)


def _awaited_claims(found: Source, patience: StatusLine) -> StoppingDocument | None:
    """Return the state of the claims that an experiment directory waits for; None for other data."""
    from trialwise import study
    from trialwise.study.sources import Directory

    if not isinstance(found, Directory):
        return None
    return study.awaited_claims(found.path, patience.drawing, patience.going)
