"""Control variates, and what pairs are worth."""

import numpy as np
import pytest
from numpy.linalg import lstsq
from scipy.stats import t

from trialwise import statistics as st


def drawn(n=400, seed=1):
    random = np.random.default_rng(seed)
    x = random.normal([5.0, 1.0], [1.0, 0.3], (n, 2))
    return 10 + 2 * x[:, 0] - x[:, 1] + 0.3 * random.normal(size=n), x


def test_the_estimate_is_the_fitted_value_at_the_known_means():
    y, x = drawn()
    design = np.column_stack([np.ones(len(y)), x - [5.0, 1.0]])
    fitted, rest, *_ = lstsq(design, y, rcond=None)
    error = np.sqrt(rest[0] / (len(y) - 3) * np.linalg.inv(design.T @ design)[0, 0])
    found = st.control_variates(y, x, [5.0, 1.0], precision=0.001)
    assert found.controlled.estimate == pytest.approx(fitted[0])
    assert found.coefficients == pytest.approx(fitted[1:])
    assert found.gain == pytest.approx(y.var(ddof=1) / len(y) / error**2)
    half = (found.controlled.high - found.controlled.low) / 2
    assert half == pytest.approx(t.ppf(0.98, len(y) - 3) * error)
    assert (found.usable, found.estimate) == (True, found.controlled.estimate)


def test_surrogate_means_widen_the_interval():
    y, x = drawn()
    exact = st.control_variates(y, x, [5.0, 1.0])
    rough = st.control_variates(y, x, [5.0, 1.0], surrogate_trials=200)
    assert rough.controlled.estimate == exact.controlled.estimate
    assert rough.gain < exact.gain
    assert rough.controlled.high > exact.controlled.high


def test_few_trials_keep_the_plain_interval_and_show_both():
    y, x = drawn(100)
    found = st.control_variates(y, x, [5.0, 1.0])
    assert (found.usable, found.needed, found.low) == (False, 200, found.plain.low)
    assert "takes 200 trials and there are 100" in found.warnings[0]
    assert found.controlled.high - found.controlled.low < found.plain.high - found.plain.low
    enough = st.control_variates(y, x, [5.0, 1.0], precision=3.5)
    assert enough.usable
    assert enough.needed < 20
    assert enough.high - enough.low == pytest.approx(0.035 * enough.estimate)


def test_a_floor_beyond_the_plain_interval_leaves_that_one():
    y, x = drawn()
    found = st.control_variates(y, x, [5.0, 1.0], precision=10)
    assert found.gain > 20
    assert found.controlled.high - found.controlled.low == pytest.approx(0.1 * found.controlled.estimate)
    assert (found.usable, found.low, found.high) == (False, found.plain.low, found.plain.high)
    assert "never below half of the precision, is wider" in " ".join(found.warnings)


def test_a_gain_that_the_wider_level_eats_up_leaves_the_plain_interval():
    random = np.random.default_rng(8)
    x = random.normal(size=2000)
    found = st.control_variates(0.18 * x + random.normal(size=2000), x, 0.0)
    assert 1 < found.gain < 1.08
    assert (found.usable, found.low) == (False, found.plain.low)
    assert "of four fifths, is wider" in " ".join(found.warnings)


def test_the_quantile_with_a_floor_beyond_the_plain_interval_is_the_plain_one_too():
    random = np.random.default_rng(9)
    trials = [random.lognormal(0, 1, 50) for _ in range(300)]
    control = [np.sum(trial > np.exp(1.6448536)) - 0.05 * 50 for trial in trials]
    found = st.control_variates_quantile(trials, 95, control, 0.0, precision=50)
    assert (found.usable, found.low) == (False, found.plain.low)


def test_spiky_residuals_are_said():
    y, x = drawn(300)
    spiky = y + np.where(np.arange(300) % 100 == 7, 30.0, 0.0)
    found = st.control_variates(spiky, x, [5.0, 1.0], precision=1)
    assert 0.2 < found.largest < 0.5
    assert "one trial makes" in " ".join(found.warnings)


def test_an_interval_that_rests_on_one_trial_is_not_used():
    """One of 300 trials has most of what the controls leave: others like it may come."""
    y, x = drawn(300)
    y = y + np.where(np.arange(300) == 7, 9.0, 0.0)
    found = st.control_variates(y, x, [5.0, 1.0])
    assert found.largest > 0.5
    assert found.gain > 10
    assert (found.usable, found.low) == (False, found.plain.low)
    assert "rests on one trial" in found.warnings[0]
    assert not any("wider" in warning for warning in found.warnings)
    # Half of the precision is wider than what rests on that trial.
    assert st.control_variates(y, x, [5.0, 1.0], precision=1).usable


def test_a_tail_interval_that_rests_on_one_trial_is_not_used():
    random = np.random.default_rng(13)
    trials = [random.exponential(1, 40) for _ in range(400)]
    trials[9] = np.concatenate([trials[9], np.full(400, 50.0)])
    control = np.array([np.sum(trial > 2.5) for trial in trials]) + random.normal(0, 0.1, 400)
    control[9] = 3
    found = st.control_variates_quantile(trials, 50, control, 3.3)
    assert found.largest > 0.5
    assert not found.usable


def test_means_with_a_covariance_add_what_their_coefficients_make_of_it():
    y, x = drawn()
    covariance = np.array([[0.02, 0.004], [0.004, 0.003]])
    found = st.control_variates(y, x, [5.0, 1.0], surrogate_trials=300, means_covariance=covariance)
    exact = st.control_variates(y, x, [5.0, 1.0])
    slope, *_ = lstsq(x - x.mean(axis=0), y - y.mean(), rcond=None)
    plain = y.var(ddof=1) / len(y)
    assert plain / found.gain - plain / exact.gain == pytest.approx(slope @ covariance @ slope)
    # 300 lists behind the means of two controls: fewer degrees of freedom than 400 trials have.
    error = np.sqrt(plain / found.gain)
    assert found.controlled.high - found.controlled.estimate == pytest.approx(t.ppf(0.98, 298) * error)


def test_a_covariance_over_equal_lists_is_their_number():
    random = np.random.default_rng(14)
    load = random.gamma(4, 1, 240)
    trials = [np.round(random.exponential(each, random.poisson(8)), 1) for each in load]
    x = np.column_stack([load, [trial.size for trial in trials]])
    covariance = np.cov(x.T) / 5000
    for name, more in (("control_variates", ()), ("control_variates_quantile", (90,))):
        subject = load if not more else trials
        subject = random.normal(load) if not more else subject
        given = (subject, *more, x, [4.0, 8.0])
        one = getattr(st, name)(*given, surrogate_trials=5000)
        other = getattr(st, name)(*given, surrogate_trials=5000, means_covariance=covariance)
        assert other.controlled.low == pytest.approx(one.controlled.low)
        assert other.gain == pytest.approx(one.gain)
    with pytest.raises(ValueError, match="expected a symmetric one of 2 × 2"):
        st.control_variates(load, x, [4.0, 8.0], means_covariance=np.eye(3))


@pytest.mark.parametrize(
    ("x", "means", "message"),
    [
        (np.ones(50), 1.0, "does not vary"),
        (np.column_stack([np.arange(50), 2 * np.arange(50)]), [1, 2], "determined by the others"),
        (np.arange(49), 1, "one row for each of 50"),
        (np.arange(50), [1, 2], "2 known means for 1"),
        (np.random.default_rng(1).normal(size=(50, 45)), np.zeros(45), "take at least 56 trials"),
    ],
)
def test_controls_that_control_nothing_are_refused(x, means, message):
    with pytest.raises(ValueError, match=message):
        st.control_variates(np.random.default_rng(2).normal(size=50), x, means)


def test_a_quantile_is_moved_to_where_its_control_has_its_known_mean():
    """Trials with too much of the tail by chance: a perfect control tells, and the quantile comes out right."""
    random = np.random.default_rng(4)
    trials = [random.lognormal(0, 1, 50) for _ in range(300)]
    true = np.exp(1.6448536)
    control = [np.sum(trial > true) - 0.05 * 50 for trial in trials]
    found = st.control_variates_quantile(trials, 95, control, 0.0)
    assert found.controlled.estimate == pytest.approx(true, rel=0.005)
    assert abs(found.plain.estimate / true - 1) > 0.001
    assert found.gain > 100
    assert found.controlled.low <= true <= found.controlled.high


def test_the_interval_of_a_quantile_holds_every_candidate_that_a_fit_there_allows():
    """Each candidate by a least-squares fit of its own, over samples some of which are equal."""
    random = np.random.default_rng(11)
    n, p, lists = 240, 0.9, 500
    load = random.gamma(4, 1, n)
    trials = [np.round(random.exponential(each, random.poisson(8)), 1) for each in load]
    sizes = np.array([trial.size for trial in trials])
    x = np.column_stack([load, sizes])
    means = np.array([4.0, 8.0])
    found = st.control_variates_quantile(trials, 100 * p, x, means, surrogate_trials=lists)
    design = np.column_stack([np.ones(n), x - means])
    within, mean = {}, {}
    for q in np.unique(np.concatenate(trials)):
        d = np.array([np.sum(trial > q) - (1 - p) * trial.size for trial in trials])
        fitted, (rest,), *_ = lstsq(design, d, rcond=None)
        slope = fitted[1:] @ np.cov(x.T) @ fitted[1:] / lists
        error = np.sqrt(rest / (n - 3) * np.linalg.inv(design.T @ design)[0, 0] + slope)
        mean[q], within[q] = fitted[0], abs(fitted[0]) <= t.ppf(0.98, n - 3) * error
    values = sorted(within)
    last = max(q for q in values if within[q])
    assert found.controlled.low == min(q for q in values if within[q])
    assert found.controlled.high == values[values.index(last) + 1]  # d is the same until the next value
    assert found.controlled.estimate == min(q for q in values if mean[q] <= 0)


def test_a_tail_that_few_trials_make_says_how_many_it_takes():
    random = np.random.default_rng(12)
    trials = [random.exponential(1, 40) + 10 * (at % 20 == 0) for at in range(300)]
    beyond = np.array([np.sum(trial > 9) for trial in trials])
    found = st.control_variates_quantile(trials, 97, beyond + random.normal(0, 0.1, 300), 2.0, precision=50)
    assert not found.usable
    # 15 trials have equal numbers beyond the quantile, nearly.
    assert found.needed == pytest.approx(300 * 30 / 15, rel=0.1)
    assert "few trials make the tail" in found.warnings[0]


def test_pairs_are_worth_their_correlation():
    random = np.random.default_rng(5)
    common = random.normal(size=2000)
    a, b = common + 0.3 * random.normal(size=2000), common + 0.3 * random.normal(size=2000) + 0.05
    found = st.pairing_gain(a, b)
    assert found.correlation == pytest.approx(1 / 1.09, abs=0.01)
    assert found.gain == pytest.approx(1 / (1 - found.correlation), rel=0.01)
    paired, apart = st.paired_difference(a, b), st.difference(a, b)
    assert (apart.welch.high - apart.welch.low) / (paired.welch.high - paired.welch.low) == pytest.approx(
        np.sqrt(found.gain), rel=0.01
    )
    assert (paired.verdict, apart.verdict) == ("different", "undecided")
    assert st.pairing_gain([1.0, 2.0], [2.0, 3.0]).gain == np.inf
    with pytest.raises(ValueError, match="takes one of each"):
        st.pairing_gain([1.0, 2.0], [1.0, 2.0, 3.0])


def test_paired_ranks_are_those_of_students_test():
    from scipy.stats import ttest_rel

    from trialwise.statistics.comparing.pairwise import paired_p_values

    random = np.random.default_rng(6)
    common = random.normal(size=40)
    groups = {
        name: common + shift + 0.1 * random.normal(size=40)
        for name, shift in (("a", 0), ("b", 0.1), ("c", 1))
    }
    rows = list(groups.values())
    p_values = paired_p_values(rows, 1)
    assert p_values[1, 0] == pytest.approx(ttest_rel(rows[1], rows[0], alternative="greater").pvalue)
    assert p_values[0, 1] == pytest.approx(1 - p_values[1, 0])
    assert st.rank_sets(groups, paired=True)["c"] == (1, 1)
    assert st.rank_sets(groups, paired=True)["b"] == (2, 2)
    assert st.rank_sets(groups)["b"] == (2, 3)
    with pytest.raises(ValueError, match="every unit takes one"):
        st.rank_sets({"a": [1.0, 2.0], "b": [1.0, 2.0, 3.0]}, paired=True)


def test_a_quantile_of_very_few_samples_has_open_bounds_and_no_forecast():
    trials = [np.array([float(at)]) if at % 8 == 0 else np.empty(0) for at in range(40)]
    sizes = np.array([trial.size for trial in trials], dtype=np.float64)
    x = np.column_stack([sizes + np.arange(40) / 40, np.arange(40)])
    for means in ([5.0, 0.0], [-5.0, 80.0]):  # known means far from those of the trials
        found = st.control_variates_quantile(trials, 90, x, means, precision=5)
        assert not found.usable
        assert found.needed >= 200
        assert found.controlled.low <= found.controlled.high
