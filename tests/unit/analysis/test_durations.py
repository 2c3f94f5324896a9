"""The duration that simulated trials need, against trials whose biases are known."""

import dataclasses

import numpy as np
import pytest

from flow_records import advice_on, alike, from_empty, records_of
from trialwise.analysis.estimation.size_classes import stable


def test_trials_without_a_transient_need_no_more_than_their_tolerance() -> None:
    found = advice_on(alike(np.random.default_rng(1), 60, 400), "1s")
    assert found.transient is not None
    assert found.transient.low <= 0 <= found.transient.high
    assert found.needed is not None
    assert found.needed < 1.0
    assert "are long enough" in found.reason
    # The same time is simulated for the same precision.
    assert found.trials_needed == pytest.approx(60 / found.needed, abs=1)


def test_a_single_treatment_has_no_name() -> None:
    found = advice_on(alike(np.random.default_rng(1), 60, 400), "1s")
    assert (found.treatment, found.subject) == ("-", "pooled")
    assert dataclasses.replace(found, treatment="scheme=hpcc").subject == "pooled of scheme=hpcc"


def test_per_trial_quantiles_need_trials_put_together_until_few_flows_do_no_harm() -> None:
    """18th of 20 exponential values: 8.9 % below the p90; 36th of 40: 4.6 % (Rényi 1953)."""
    flows = alike(np.random.default_rng(2), 600, 20)
    found = advice_on(flows, "1s", "per_trial", 6.0)
    bias = {round(step.duration, 3): step.small_sample for step in found.steps}
    assert bias[1.0] is not None
    assert bias[2.0] is not None
    assert bias[1.0].low < -8.9 < bias[1.0].high
    assert bias[2.0].low < -4.6 < bias[2.0].high
    assert found.needed in (2.0, 5.0)
    assert found.trials_needed is not None
    assert "not told apart" not in found.sentences[0]
    tight = advice_on(flows, "1s", "per_trial", 0.1)
    assert tight.needed is None
    assert 'estimand = "pooled" is within it from' in tight.reason


def test_a_bias_of_few_flows_whose_interval_holds_none_is_not_told_apart() -> None:
    found = advice_on(alike(np.random.default_rng(1), 30, 1000), "1s", "per_trial")
    bias = next(step.small_sample for step in found.steps if step.duration == 1.0)
    assert bias is not None
    assert bias.low <= 0 <= bias.high
    assert "all samples, which is not told apart from none; no warm-up" in found.sentences[0]


def test_a_tighter_tolerance_needs_longer_trials() -> None:
    flows = alike(np.random.default_rng(3), 60, 400)
    wide, tight = (advice_on(flows, "1s", tolerance=tolerance).needed for tolerance in (10.0, 0.5))
    assert wide is not None
    assert tight is not None
    assert tight > wide


def test_no_duration_where_flows_pile_up() -> None:
    found = advice_on(from_empty(np.random.default_rng(4), 60, 200, load=1.0), "1s")
    assert found.warmup_end is None
    assert found.needed is None
    assert found.reason.startswith("no stable phase: active flows of the second half")
    assert "lower load" in found.reason


def test_no_duration_where_warm_up_and_cool_down_fill_the_trial() -> None:
    random = np.random.default_rng(5)
    starts = [np.sort(random.uniform(0, 1, 300)) for _ in range(20)]
    found = advice_on(records_of(starts, [np.full(300, 0.48)] * 20), "1s")
    assert found.needed is None
    assert found.reason.startswith(("warm-up and cool-down", "no stable phase"))


def test_few_flows_beyond_the_quantile_say_how_many_trials_would_do() -> None:
    found = advice_on(alike(np.random.default_rng(6), 10, 8), "1s")
    assert found.needed is None
    assert "lie beyond the quantile and 20 are needed" in found.reason
    assert "times the trials would do" in found.reason


def test_shares_of_the_phases_are_of_all_flows() -> None:
    found = advice_on(alike(np.random.default_rng(7), 60, 400), "1s")
    assert found.cooldown == pytest.approx(0.005 * np.log(10), rel=0.1)
    assert found.stable_share is not None
    assert found.cooldown_share is not None
    assert found.warmup_share + found.stable_share + found.cooldown_share == pytest.approx(1.0)
    assert found.cooldown_share == pytest.approx(found.cooldown, rel=0.2)


def test_sizes_leave_out_the_flows_that_are_set_apart() -> None:
    flows = records_of([np.array([0.0, 1.0, 2.0, 3.0, 4.0])], [np.ones(5)])
    assert stable((0.0, 0.0), flows).tolist() == [True] * 5
    assert stable((1.0, 0.0), flows).tolist() == [False, True, True, True, True]
    assert stable((1.0, 1.0), flows).tolist() == [False, True, True, False, False]
