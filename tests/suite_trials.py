"""Trials of two suites of benchmarks, and the noise that two identical suites of a real bench have."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet

KINDS = ("usual", "heavy tails", "shared", "coarse", "preempted")


def suite(base, head, *, better="lower", without=()):
    """Trials from arrays of shape (rounds, benchmarks); `without` are (version, benchmark) that have no values."""
    rows = [
        (f"b{at}", f"version={version}", float(value), "h", "b", "b", f"{version}{number}", f"{version}{number}", "1",
         f"1.{number}", None, 1.0)
        for version, table in (("base", base), ("head", head))
        for number, line in enumerate(table, 1)
        for at, value in enumerate(line)
        if (version, at) not in without
    ]  # fmt: skip
    facts = {f"b{at}": MetricFacts(f"b{at}", "ns", better) for at in range(np.shape(base)[1])}
    treatments = {f"version={version}": {"version": version} for version in ("base", "head")}
    return TrialSet("ab", facts, treatments, pl.DataFrame(rows, schema=SCHEMA, orient="row"))


def identical(
    random: np.random.Generator, rounds: int, benchmarks: int, kind: str = "usual"
) -> Iterator[np.ndarray]:
    """Yield the times of base and of head, of shape (rounds, benchmarks), in whole nanoseconds.

    A random walk drifts through all rounds, a run is slow or fast in all of its benchmarks, and each has Student's t of its own. By
    kind, the tails are heavier (2 degrees of freedom), what a run shares is larger (5 %), times are of few nanoseconds (many ties),
    or one in ten is preempted.
    """
    drift = np.cumsum(random.normal(0, 0.01, rounds))[:, None]
    shared = 0.05 if kind == "shared" else 0.01
    center = 8 if kind == "coarse" else 200
    for _ in range(2):
        run = random.normal(0, shared, (rounds, 1))
        own = 0.01 * random.standard_t(2 if kind == "heavy tails" else 3, (rounds, benchmarks))
        spread = 0.05 * random.normal(size=(rounds, benchmarks)) if kind == "coarse" else 0.0
        waits = np.where(
            random.random((rounds, benchmarks)) < 0.1, random.exponential(3, (rounds, benchmarks)), 0
        )
        yield np.round(center * np.exp(drift + run + own + spread) * (1 + waits * (kind == "preempted")))
