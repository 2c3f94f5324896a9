"""Sequential estimates of tilted trials: looks, what keeps them from stopping, and CCEval's batches."""

import numpy as np
import pytest

from trialwise import statistics as st

FLOWS = 20.0


def trials(count, seed, shift=0.5, spread=1.0):
    """Independent lognormal flows drawn about a shifted mean of their logarithm: the weights are exact."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        at = random.normal(shift, spread, random.poisson(FLOWS))
        logs = np.log(spread) + ((at - shift) / spread) ** 2 / 2 - at**2 / 2
        found.append(st.WeightedTrial(st.Cycle(np.exp(at), np.exp(logs), at), FLOWS))
    return found


def test_the_looks_and_the_interval_are_those_of_all_trials_together():
    drawn = trials(3000, 1)
    found = st.SequentialImportance(99, 15).until_known(drawn)
    assert found.stopped
    fixed = st.importance_quantile([one.cycle for one in drawn[: found.n]], 99, FLOWS, confidence=96)
    assert (found.estimate, found.low, found.high) == (fixed.estimate, fixed.low, fixed.high)
    assert found.half_width <= found.target == pytest.approx(0.15 * found.estimate)
    assert fixed.diagnostics.effective >= 50
    assert (found.rule, found.inner_confidence) == ("geometric", 96)


def test_forecasts_before_it_are_about_right():
    drawn = trials(3000, 2)
    early = st.SequentialImportance(99, 5).until_known(drawn[:100]).forecast
    end = st.SequentialImportance(99, 5).until_known(drawn)
    assert early.low <= end.n <= 1.1 * early.high


def test_it_does_not_stop_while_the_tail_is_worth_too_few_trials():
    drawn = trials(400, 3)
    found = st.SequentialImportance(99, 10_000).until_known(drawn)
    before = int(found.n / 1.1)
    cycles = [one.cycle for one in drawn]
    assert st.importance_quantile(cycles[: found.n], 99, FLOWS).diagnostics.effective >= 50
    assert st.importance_quantile(cycles[:before], 99, FLOWS).diagnostics.effective < 50
    assert found.n > 30
    early = st.SequentialImportance(99, 10_000).until_known(drawn[:30])
    assert early.forecast.trials == pytest.approx(found.n, rel=0.5)
    assert "the tail of 30 trials is worth" in early.warnings[0]


def test_weights_that_leave_no_quantile_are_told_and_nothing_stops():
    found = st.SequentialImportance(99, 50).until_known(
        [
            st.WeightedTrial(st.Cycle(np.array([1.0, 2.0]), np.array([1.0, 50.0]), np.empty(0)), 2.0)
            for _ in range(40)
        ]
    )
    assert not found.stopped
    assert np.isnan(found.estimate)
    assert "no response is the p99" in found.warnings[0]


def test_batches_are_ccevals():
    drawn = trials(6000, 4)
    found = st.SequentialBatches(99, 5).until_known(drawn)
    fixed = st.batched_quantile([one.cycle for one in drawn], 99, FLOWS, precision=5)
    assert found.stopped
    assert (found.n, found.estimate) == (40 * fixed.stop.n, pytest.approx(fixed.stop.mean))
    assert (found.low, found.high) == (pytest.approx(fixed.stop.low), pytest.approx(fixed.stop.high))
    assert any("quantile of a batch is biased" in warning for warning in found.warnings)
    early = st.SequentialBatches(99, 5).until_known(drawn[:100])
    assert (early.n, early.looks, early.next_look) == (80, 0, 800)
    assert early.forecast.trials % 40 == 0


def test_a_batch_without_its_quantile_ends_all_hope():
    bad = st.WeightedTrial(st.Cycle(np.array([1e9]), np.array([1e6]), np.empty(0)), 1.0)
    found = st.SequentialBatches(99, 50, start=2).until_known([bad, *trials(200, 5)])
    assert not found.stopped
    assert "batch 1 has no quantile" in found.warnings[0]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: st.SequentialImportance(100, 5), "percentile"),
        (lambda: st.SequentialImportance(99, 0), "precision"),
        (lambda: st.SequentialBatches(99, 5, batch=1), "batch is 1"),
    ],
)
def test_bad_options(make, said):
    with pytest.raises(ValueError, match=said):
        make()
    nan = st.WeightedTrial(st.Cycle(np.array([np.nan]), np.array([1.0]), np.empty(0)), 1.0)
    with pytest.raises(ValueError, match="trial 1 has a response"):
        st.SequentialImportance(99, 5).add(nan)
