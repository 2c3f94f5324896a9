"""Trials that claims are judged on."""

import polars as pl

from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet


def trials(unit="ms", better="lower", **groups):
    """A trial set of one metric, `delay`, with a treatment for each group."""
    rows = [
        (
            "delay",
            f"scheme={name}",
            float(value),
            "",
            "",
            "",
            f"{name}{at}",
            f"{name}{at}",
            "1",
            str(at),
            None,
            None,
        )
        for name, values in groups.items()
        for at, value in enumerate(values)
    ]
    return TrialSet(
        "made",
        {"delay": MetricFacts("delay", unit, better)},
        {f"scheme={name}": {"scheme": name} for name in groups},
        pl.DataFrame(rows, schema=SCHEMA, orient="row"),
    )
