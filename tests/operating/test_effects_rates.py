"""How often an analysis of effects is wrong: factors that do nothing, verdicts against a margin, and samples taken for trials.

`PYTHONPATH=tests .venv/bin/python tests/operating/test_effects_rates.py` prints the rates (more repetitions with a number behind it).
"""

import sys
from collections import Counter

import numpy as np
import pytest

from effects_data import normal, trial_set
from trialwise.analysis.effects.analysing import EffectsOptions, analyse_effects
from trialwise.analysis.effects.trials import factor_trials
from trialwise.experiment.model import Extent
from trialwise.statistics import anova, difference_of_averages

FACTORS = {"flavour": ["none", "log", "full"], "load": [1, 10]}
MARGIN = 1.5
"""In standard deviations, which are 1 % of the mean here."""


def verdicts(repetitions, effect=0.0, *, n=8, margin=None, boots=1, boot_spread=0.0):
    """Shares of the verdicts of whole analyses; the effect is of flavour "full", whatever the load."""
    found = Counter()
    for seed in range(repetitions):
        value = normal(seed, lambda levels: effect * (levels["flavour"] == "full"), boot_spread=boot_spread)
        trials = trial_set(FACTORS, value, n=n, boots=boots)
        options = EffectsOptions(margin=margin and Extent(margin, False), base={"flavour": "none"})
        found[analyse_effects(factor_trials(trials), options).verdict] += 1
    return {word: count / repetitions for word, count in found.items()}


def naive_false_alarms(repetitions, correlation, trial_spread=0.0, samples=600):
    """Share of experiments of one trial for each of 4 x 2 treatments in which the first factor is significant by its samples."""
    generator = np.random.Generator(np.random.PCG64DXSM(5))
    flavours, threads, _ = np.indices((4, 2, samples))
    wrong = 0
    for _ in range(repetitions):
        values = generator.normal(size=(4, 2, samples))
        values[..., 1:] *= (1 - correlation**2) ** 0.5
        for at in range(1, samples):
            values[..., at] += correlation * values[..., at - 1]
        values += trial_spread * generator.normal(size=(4, 2, 1))
        table = {"a": flavours.ravel(), "b": threads.ravel(), "y": values.ravel()}
        wrong += anova(table, "y", ["a", "b"], method="ordinary").row("a").p_value <= 0.05
    return wrong / repetitions


def test_nothing_matters_by_chance_more_often_than_in_5_percent():
    assert verdicts(160).get("factors matter", 0.0) <= 0.05 + 2.6 * (0.05 * 0.95 / 160) ** 0.5


def test_verdicts_against_a_margin():
    none = verdicts(60, n=20, margin=MARGIN)
    assert none.get("factors matter", 0.0) == 0.0
    assert none["no factor matters"] >= 0.9
    at_margin = verdicts(60, MARGIN, n=20, margin=MARGIN)
    assert at_margin.get("no factor matters", 0.0) <= 0.05 + 2.6 * (0.05 * 0.95 / 60) ** 0.5
    assert verdicts(30, 2 * MARGIN, n=20, margin=MARGIN)["factors matter"] >= 0.9


PATTERNS = [
    ([10, 10, 9], [10, 10, 10], [1, 1, 1], [1, 1, 1]),
    ([2, 10, 5], [10, 3, 7], [1, 1, 1], [1, 1, 1]),
    ([2, 2], [10, 10], [1, 1], [3, 3]),
    ([3, 10], [10, 3], [5, 1], [1, 1]),
]
"""Trials of each cell of both sides, and their standard deviations."""


def misses_of_averages(repetitions, pattern):
    """Share of 95 % intervals of a difference of averages over unequal cells that miss it."""
    generator = np.random.Generator(np.random.PCG64DXSM(6))
    counts_a, counts_b, spreads_a, spreads_b = pattern
    missed = 0
    for _ in range(repetitions):
        a, b = (
            [
                generator.normal(10 * place, spread, n)
                for place, (n, spread) in enumerate(zip(*side, strict=True))
            ]
            for side in ((counts_a, spreads_a), (counts_b, spreads_b))
        )
        found = difference_of_averages(a, b).welch
        missed += not found.low <= 0 <= found.high
    return missed / repetitions


@pytest.mark.parametrize("pattern", PATTERNS)
def test_intervals_of_averages_over_unequal_cells_hold(pattern):
    assert misses_of_averages(800, pattern) <= 0.06 + 2.6 * (0.05 * 0.95 / 800) ** 0.5


def test_boots_that_differ_do_not_make_factors_matter():
    assert verdicts(100, n=2, boots=4, boot_spread=5.0).get("factors matter", 0.0) <= 0.02


def test_samples_taken_for_trials_are_what_the_paper_mode_says():
    assert naive_false_alarms(100, 0.5) == pytest.approx(0.45, abs=0.15)
    assert naive_false_alarms(100, 0.9) >= 0.85
    assert naive_false_alarms(100, 0.0, 0.1) == pytest.approx(0.78, abs=0.15)


def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    say("no effect, no margin:", verdicts(number))
    say("no effect, n = 20, margin:", verdicts(number, n=20, margin=MARGIN))
    say("effect at the margin, n = 20:", verdicts(number, MARGIN, n=20, margin=MARGIN))
    say("effect of twice the margin, n = 20:", verdicts(number, 2 * MARGIN, n=20, margin=MARGIN))
    for pattern in PATTERNS:
        say("misses of averages:", pattern, misses_of_averages(10 * number, pattern))
    say("boots:", verdicts(number, n=2, boots=4, boot_spread=5.0))
    for correlation, spread in ((0.0, 0.0), (0.5, 0.0), (0.9, 0.0), (0.0, 0.1)):
        say("samples for trials:", correlation, spread, naive_false_alarms(number, correlation, spread))
