"""Values over time from trials that ran: a value for each trial at its beginning, or the samples of one trial."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trialwise.analysis.conditions.table import ConditionTable
from trialwise.analysis.recorded import Recorded
from trialwise.errors import AnalysisError


def conditions_of(found: Recorded, value: str | None = None) -> ConditionTable:
    """Return a metric over time, in Unix seconds; of one trial its samples, whose times may count from its beginning.

    Raises
    ------
    AnalysisError
        There are several metrics or treatments to choose from, or it is not known when the trials ran.
    """
    name = found.trials.name
    if value is None and len(found.trials.metrics) > 1:
        known = ", ".join(found.trials.metrics)
        raise AnalysisError(f"{name}: there are several metrics: {known}", hint="choose one with --value")
    metric = found.check([value] if value else ())[0]
    own = found.trials.of(metric)
    if (several := own["treatment"].n_unique()) > 1:
        raise AnalysisError(
            f"{name}: holds {several} treatments, and a cycle is looked for in one",
            hint="name the files of one of them",
        )
    timed = [one for one in found.samples if one.metric == metric and one.times is not None]
    if own.height == 1 and timed:
        times, values, dated = timed[0].times, timed[0].values, timed[0].dated
    else:
        ran = own.drop_nulls("started").sort("started")
        times, values, dated = ran["started"].to_numpy(), ran["value"].to_numpy(), True
        if ran.height < own.height:
            raise AnalysisError(
                f"{name}: does not say when each trial ran", hint="give a table with a column of times"
            )
    times = None if times is None else times.astype(np.float64)
    return ConditionTable(
        Path(name), "started", metric, times, values.astype(np.float64), dated, None, found.trials.notes
    )
