"""How often the bias of few flows and that of the warm-up are told apart, in trials of which both are known."""

import numpy as np
import pytest

from flow_records import advice_on, alike, from_empty

pytestmark = pytest.mark.operating
_FLOWS = 20
_SMALL_SAMPLE = 100 * (sum(1 / k for k in range(3, _FLOWS + 1)) / np.log(10) - 1)
"""Mean of the 18th of 20 exponential values over their p90, in percent (Rényi 1953): -8.9."""


def test_few_independent_flows_have_a_small_sample_bias_and_no_transient_one() -> None:
    random = np.random.default_rng(13)
    small, none, rising, repetitions = 0, 0, 0, 40
    for _ in range(repetitions):
        found = advice_on(alike(random, 60, _FLOWS), "1s")
        rising += found.warmup_end is None
        bias = next(step.small_sample for step in found.steps if step.duration == 1.0)
        assert bias is not None
        small += bias.low <= _SMALL_SAMPLE <= bias.high
        none += found.transient is not None and found.transient.low <= 0 <= found.transient.high
    # Standard error 3.4 points at 95 %; a rise is looked for on one side only.
    assert small >= 0.85 * repetitions
    assert none + rising >= 0.85 * repetitions
    assert rising <= 0.1 * repetitions


def test_a_server_that_begins_empty_has_a_transient_bias() -> None:
    random = np.random.default_rng(14)
    said, pooled, stable, repetitions = 0, [], [], 10
    true = 0.9 / 600 * np.log(10) / (1 - 0.9)
    for _ in range(repetitions):
        found = advice_on(from_empty(random, 150, 600), "1s")
        if found.transient is None:
            said += found.warmup_end is None
            continue
        said += found.transient.high < 0
        whole = next(step.pooled for step in found.steps if step.duration == 1.0)
        assert whole is not None
        assert whole.estimate is not None
        pooled.append(whole.estimate / true - 1)
        stable.append((1 + pooled[-1]) / (1 + found.transient.estimate / 100) - 1)
    assert said >= 0.9 * repetitions
    # What is set apart is most of the bias.
    assert np.mean(pooled) < -0.05
    assert abs(np.mean(stable)) < 0.6 * abs(np.mean(pooled))
