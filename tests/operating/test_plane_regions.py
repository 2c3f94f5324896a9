"""Coverage of the rectangle of two medians on the throughput-delay plane."""

import numpy as np
import pytest
from scipy.stats import norm

from trialwise import statistics as st
from trialwise.analysis.path.plane import EACH, JOINT

pytestmark = pytest.mark.operating
REPETITIONS = 20_000


@pytest.mark.parametrize("count", [7, 10, 20, 30])
@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.9])
def test_both_medians_lie_in_the_rectangle_however_they_hang_together(count: int, correlation: float) -> None:
    random = np.random.default_rng([count, int(10 * correlation) + 10])
    pairs = random.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], (REPETITIONS, count))
    pairs[..., 1] = -np.log(norm.sf(pairs[..., 1]))  # delays are skewed: exponential, its median is log 2
    interval = st.percentile_interval(range(1, count + 1), 50, EACH)
    assert interval.low_rank is not None
    assert interval.high_rank is not None
    ordered = np.sort(pairs, axis=1)
    low, high = ordered[:, interval.low_rank - 1], ordered[:, interval.high_rank - 1]
    true = np.array([0.0, np.log(2)])
    covered = ((low <= true) & (true <= high)).all(axis=1).mean()
    spread = np.sqrt(0.05 * 0.95 / REPETITIONS)
    assert covered >= JOINT / 100 - 3 * spread
    if correlation == 0:
        assert interval.attained is not None
        assert covered == pytest.approx((interval.attained / 100) ** 2, abs=4 * spread)
