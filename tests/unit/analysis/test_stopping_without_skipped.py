"""Treatments that are skipped: the rule waits for what is left, as if nothing else were asked, at the level of the whole family."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.stopping_data import Filled, experiment_of

SIDES = '"a", "b", "c"'
MEAN = 'stop = { precision = "5%", of = "mean" }'
VERDICT = 'stop = "verdict"\nmax_trials = 2000'


def draws(n: int, seed: int, centre: float = 10.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(centre, 1, n)


def skipping(filled: Filled, *sides: str) -> Filled:
    """Skip sides: their later trials come to no value, as none runs."""
    filled.judge.skip([f"side={side}" for side in sides])
    for side in sides:
        filled.values[f"side={side}"][filled.at // len(filled.values) :] = np.nan
    return filled


@pytest.mark.parametrize("looks", ["two-stage", "anytime"])
@pytest.mark.parametrize("after", [0, 15, 90])
def test_intervals_of_what_is_left_are_those_of_an_experiment_without_the_skipped(looks: str, after: int):
    values = {side: draws(400, ord(side)) for side in "abc"}
    values["c"] *= 1 + 3 * draws(400, 9)  # what would take long
    design = f'looks = "{looks}"\norder = "fixed"\nmax_trials = 400'
    filled = Filled(experiment_of(MEAN, design, sides=SIDES), **values)
    filled.run(after)
    state = skipping(filled, "c").run_until_it_stops()
    alone = Filled(experiment_of(MEAN, design, sides='"a", "b"'), a=values["a"], b=values["b"])
    expected = alone.run_until_it_stops()
    assert expected.rounds < 400
    assert (state.reason, state.rounds, state.claims) == (expected.reason, expected.rounds, expected.claims)
    assert "side=c is skipped: no claim about it is waited for" in state.warnings


@pytest.mark.parametrize("looks", ["two-stage", "anytime"])
def test_the_level_is_shared_with_the_comparisons_that_are_skipped(looks: str):
    values = {"a": draws(2000, 1), "b": draws(2000, 2, 10.3), "c": draws(2000, 3)}
    design = f'{VERDICT}\nlooks = "{looks}"'
    filled = Filled(experiment_of('margin = "1%"', design, sides=SIDES), **values)
    filled.run(300)
    state = skipping(filled, "c").run_until_it_stops()
    [claim] = state.claims
    assert (claim.subject, state.reason) == (
        "side=b against side=a",
        "everything asked for is known (1 claim)",
    )
    if looks == "anytime":
        assert (claim.confidence, state.correction) == (
            pytest.approx(100 - 5 / 3),
            "Bonferroni over 3 differences",
        )


def test_a_treatment_that_is_no_longer_skipped_is_waited_for_again():
    filled = Filled(experiment_of(MEAN, sides=SIDES), **{side: draws(400, ord(side)) for side in "abc"})
    before = filled.judge.state(filled.upcoming)
    filled.judge.skip(["side=c"])
    assert len(filled.judge.state(filled.upcoming).claims) == 2
    filled.judge.skip([])
    assert filled.judge.state(filled.upcoming) == dataclasses.replace(before)
