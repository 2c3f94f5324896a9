"""Controls for several sides, against least squares on their difference."""

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st
from trialwise.errors import StatisticsError


def sides(n: int = 240) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(4)
    x = random.normal(3, 1, (n, 3)) * [1, 20, 0.1]
    shared = x @ [1, 0.1, 0]
    y = np.column_stack([shared + random.normal(9, 0.5, n), 1.2 * shared + random.normal(10, 0.7, n)])
    return y, x


MEANS = np.array([3.05, 61.0, 0.3])
COVARIANCE = np.diag([1.0, 400.0, 0.01]) / 2000


@pytest.mark.parametrize("confidence", [95.0, 99.0])
def test_differences_are_those_of_least_squares(confidence: float) -> None:
    y, x = sides()
    n, k = x.shape
    found = st.controlled_values(y, x, MEANS, COVARIANCE, 2000, confidence=confidence)
    table = np.column_stack([np.ones(n), x])
    at = np.array([1, *MEANS])
    fitted = np.linalg.lstsq(table, y[:, 1] - y[:, 0], rcond=None)[0]
    rest = y[:, 1] - y[:, 0] - table @ fitted
    noise = rest @ rest / (n - k - 1) * at @ np.linalg.inv(table.T @ table) @ at
    error = np.sqrt(noise + fitted[1:] @ COVARIANCE @ fitted[1:])
    half = stats.t.ppf(1 - 0.8 * (1 - confidence / 100) / 2, n - k - 1) * error
    shown = st.paired_difference(*found.values.T, confidence=confidence).welch
    assert shown.estimate == pytest.approx(at @ fitted)
    assert (shown.low, shown.high) == pytest.approx((at @ fitted - half, at @ fitted + half))
    assert found.gains[0, 1] == pytest.approx((y[:, 1] - y[:, 0]).var(ddof=1) / n / error**2)
    assert found.gains[0, 0] > found.gains[0, 1] > 1
    for side in range(2):  # and those of each side are its own
        alone = st.control_variates(
            y[:, side], x, MEANS, confidence=confidence, surrogate_trials=2000, means_covariance=COVARIANCE
        )
        assert found.values[:, side].mean() == pytest.approx(alone.controlled.estimate)
        assert found.gains[side, side] == pytest.approx(alone.gain)


def test_sides_that_are_the_same_but_for_controls_and_few_trials_are_refused() -> None:
    y, x = sides()
    with pytest.raises(StatisticsError, match="nothing that tells the sides apart"):
        st.controlled_values(np.column_stack([y[:, 0], y[:, 0] + x[:, 1]]), x, MEANS, COVARIANCE, 2000)
    with pytest.raises(StatisticsError, match="at least 15 trials; there are 14"):
        st.controlled_values(y[:14], x[:14], MEANS, COVARIANCE, 2000)
    with pytest.raises(StatisticsError, match="no control varies"):
        st.controlled_values(y, np.ones((240, 1)), [1.0], [[0.0]], 2000)
