"""Results of a Pantheon test, a folder or an archive, in place of an experiment directory for `analyze` and `report`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.errors import AnalysisError
from trialwise.experiment.model import Method

if TYPE_CHECKING:
    from trialwise.analysis.results import Analysis
    from trialwise.cli.tables import TableOptions


def is_pantheon(path: Path) -> bool:
    """Return True if a path has the results of a Pantheon test, as a folder or an archive, and is not an experiment directory."""
    from trialwise.exchange.pantheon_archive import is_packed
    from trialwise.exchange.pantheon_folder import is_pantheon_folder
    from trialwise.store.directory import ExperimentDirectory

    try:
        if path.is_dir():
            return not ExperimentDirectory(path).is_begun and is_pantheon_folder(path)
        return is_packed(path) and path.exists()
    except OSError:
        return False


def pantheon_analysis(path: Path, options: TableOptions, method: Method) -> Analysis:
    """Analyse the runs of all schemes; `options` define the claims about throughput, delay and loss.

    Raises
    ------
    AnalysisError
        There are no runs, or an option is for tables only.
    """
    from trialwise.analysis.of_trials import analyse_trials
    from trialwise.cli.tables import metrics_of
    from trialwise.exchange.result_files import read_trials

    columns = (options.group, options.series, options.trial, options.order, options.time, options.measure)
    if any(columns) or options.convergence:
        raise AnalysisError(
            f"{path}: holds results of a Pantheon test, whose columns are known",
            hint="leave --group, --series, --trial, --order, --time, --measure and --convergence out",
        )
    trials = read_trials(path)
    names = options.value or tuple(trials.metrics)
    for name in names:
        if name not in trials.metrics:
            raise AnalysisError(f"{path}: no metric {name!r}", hint=f"there are: {', '.join(trials.metrics)}")
    known = tuple(f"{name}={facts.better}" for name, facts in trials.metrics.items() if name in names)
    asked = dataclasses.replace(options, value=names, better=(*known, *options.better))
    return analyse_trials(trials, metrics_of(path, asked), method)
