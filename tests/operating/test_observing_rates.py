"""How often an observation is wrong: over all of its flavours, loads, metrics and errors together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from trialwise.analysis.observing.observing import ObserveOptions, observe
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet
from trialwise.experiment.model import Extent

pytestmark = pytest.mark.operating
TRIALS = 12
FLAVOURS = ("none", "light", "heavy")
MARGINS = {"speed": Extent(5.0, relative=True), "wrong": Extent(0.5, relative=False)}
METRICS = {name: MetricFacts(name, margin=margin) for name, margin in MARGINS.items()}
TREATMENTS = {f"f={f} rate={r}": {"f": f, "rate": r} for f in FLAVOURS for r in (1, 9)}


def simulated(rng: np.random.Generator, speed: float, wrong: float) -> TrialSet:
    """Lognormal speeds with a coefficient of variation of 5 %, and errors; flavours but the base differ from it by so much."""
    cells = []
    for treatment, levels in TREATMENTS.items():
        base = levels["f"] == "none"
        speeds = (100 if base else speed) * np.exp(rng.normal(-0.00125, 0.05, TRIALS))
        errors = rng.normal(0.0 if base else wrong, 0.3, TRIALS)
        for number, values in enumerate(zip(speeds, errors, strict=True)):
            trial = f"{treatment}.{number}"
            for metric, value in zip(METRICS, values, strict=True):
                cells.append(
                    (metric, treatment, float(value), "h", "b", "b", trial, trial, "1", "1.1", None, 1.0)
                )
    return TrialSet("set", METRICS, TREATMENTS, pl.DataFrame(cells, schema=SCHEMA, orient="row"))


def share_with(word: str, speed: float, wrong: float, seed: int, repetitions: int) -> float:
    """The share of experiments in which some row, of those whose truth is at a bound, ends in the word."""
    rng = np.random.default_rng(seed)
    options = ObserveOptions(errors=("wrong",))
    hits = 0
    for _ in range(repetitions):
        found = observe(simulated(rng, speed, wrong), "f", "none", options)
        hits += any(row.verdict == word for row in found.rows if row.flavour != "none")
    return hits / repetitions


@pytest.mark.parametrize("repetitions", [60, pytest.param(4000, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    ("word", "speed", "wrong"),
    [
        ("different", 100.0, 0.0),
        ("different", 105.0, 0.5),
        ("equivalent", 105.0, 0.5),
        ("equivalent", 95.0, -0.5),
    ],
)
def test_some_wrong_word_in_at_most_five_percent_of_experiments(
    word: str, speed: float, wrong: float, repetitions: int
):
    """Neither where there is no effect, nor where effects are just at their margins. Three standard errors are let through."""
    rate = share_with(word, speed, wrong, 11, repetitions)
    assert rate <= 0.05 + 3 * (0.05 * 0.95 / repetitions) ** 0.5
