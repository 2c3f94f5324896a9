"""Results of a Pantheon test, a folder, an archive or its `pantheon_perf.json`, in place of an experiment directory."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.errors import AnalysisError
from trialwise.experiment.model import Method

if TYPE_CHECKING:
    from trialwise.analysis.order.summary import OrderSummary
    from trialwise.analysis.results import Analysis
    from trialwise.cli.tables import TableOptions
    from trialwise.exchange.pantheon_results import PantheonResults

_NO_ORDER = "The order is not judged: these results of Pantheon do not say in which order the schemes of a run were tried."


def is_pantheon(path: Path) -> bool:
    """Return True if a path has the results of a Pantheon test, and is not an experiment directory."""
    from trialwise.exchange.pantheon_archive import is_packed
    from trialwise.exchange.pantheon_folder import is_pantheon_folder
    from trialwise.store.directory import ExperimentDirectory

    try:
        if path.is_dir():
            return not ExperimentDirectory(path).is_begun and is_pantheon_folder(path)
        return (is_packed(path) and path.exists()) or _is_perf(path)
    except OSError:
        return False


def _is_perf(path: Path) -> bool:
    """Return True if a file is a `pantheon_perf.json`, whatever its name is; nothing is taken out of a pipe."""
    if not (path.name.endswith((".json", ".json.gz")) and path.is_file()):
        return False
    from trialwise.readers.tables.content import content_of
    from trialwise.readers.tables.foreign import tool_in

    try:
        tool = tool_in(content_of(path))
    except AnalysisError:
        return False
    return tool is not None and tool.name == "Pantheon"


def pantheon_results(path: Path) -> PantheonResults:
    """Read the runs, and in which order they ran."""
    from trialwise.exchange.pantheon_results import read_results

    return read_results(path)


def pantheon_order(results: PantheonResults) -> OrderSummary:
    """Summarise the effect of order for the report."""
    from trialwise.analysis.order.analysing import analyse_order
    from trialwise.analysis.order.summary import OrderSummary, view_of

    try:
        trials = results.order()
    except AnalysisError:
        return OrderSummary(None, _NO_ORDER)
    units = {name: facts.unit for name, facts in results.trials.metrics.items()}
    return view_of(trials, analyse_order(trials), units)


def pantheon_analysis(
    path: Path,
    options: TableOptions,
    method: Method,
    *,
    is_read_as_table: bool = False,
    results: PantheonResults | None = None,
) -> Analysis:
    """Analyse the runs of all schemes; `options` define the claims about throughput, delay and loss.

    Parameters
    ----------
    path
        The folder or archive.
    options
        What is claimed.
    method
        Of the statistics.
    is_read_as_table
        Whether somebody said how a table is to be read.
    results
        What `pantheon_results` returned; read here if it is None.

    Raises
    ------
    AnalysisError
        There are no runs, or an option is for tables only.
    """
    from trialwise.analysis.of_trials import analyse_trials
    from trialwise.cli.tables import metrics_of

    if is_read_as_table:
        raise AnalysisError(f"{path}: is not a table", hint="leave out how a table is to be read")
    columns = (options.group, options.series, options.trial, options.order, options.time, options.measure)
    if any(columns) or options.convergence:
        raise AnalysisError(
            f"{path}: holds results of a Pantheon test, whose columns are known",
            hint="leave --group, --series, --trial, --order, --time, --measure and --convergence out",
        )
    trials = (results or pantheon_results(path)).trials
    names = options.value or tuple(trials.metrics)
    for name in names:
        if name not in trials.metrics:
            raise AnalysisError(f"{path}: no metric {name!r}", hint=f"there are: {', '.join(trials.metrics)}")
    known = tuple(f"{name}={facts.better}" for name, facts in trials.metrics.items() if name in names)
    asked = dataclasses.replace(options, value=names, better=(*known, *options.better))
    return analyse_trials(trials, metrics_of(path, asked), method)
