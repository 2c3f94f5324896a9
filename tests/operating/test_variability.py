"""What a variability score says of further series: METHODS h."""

import numpy as np
import pytest

from trialwise import statistics as st

pytestmark = pytest.mark.operating
repeated = pytest.mark.parametrize("repetitions", [400, pytest.param(20_000, marks=pytest.mark.soak)])


@repeated
def test_both_bounds_hold_together_and_the_next_series_falls_between_as_often_as_said(repetitions):
    random = np.random.default_rng(56)
    kpis = random.random((repetitions, 6))
    scores = [st.variability(row[:5], 75, 75) for row in kpis]
    together = np.mean([score.low <= 0.25 and score.high >= 0.75 for score in scores])
    between = np.mean([score.low <= row[5] <= score.high for score, row in zip(scores, kpis, strict=True)])
    each = np.mean([score.high >= 0.75 for score in scores])
    spread = 3.3 * np.sqrt(0.25 / repetitions)
    assert together == pytest.approx(0.5566, abs=spread)
    assert together == pytest.approx(scores[0].joint_confidence / 100, abs=spread)
    assert between == pytest.approx(scores[0].prediction / 100, abs=spread)
    assert each >= 0.75 - spread


@repeated
def test_the_median_range_holds_the_median_as_often_as_asked(repetitions):
    random = np.random.default_rng(50)
    scores = [st.variability(random.normal(size=3), 50, 75) for _ in range(repetitions)]
    held = np.mean([score.low <= 0 <= score.high for score in scores])
    assert held == pytest.approx(0.75, abs=3.3 * np.sqrt(0.19 / repetitions))


@repeated
def test_scores_are_not_zero_where_series_do_not_differ(repetitions):
    """Ten runs a series, five series, none different: 1.08 standard deviations of a run for bounds."""
    random = np.random.default_rng(10)
    runs = np.sort(random.normal(size=(repetitions, 5, 10)), axis=2)
    rank = st.percentile_interval(range(10), 50, 95, bound="upper").high_rank
    bounds = np.mean([st.variability(series[:, rank - 1], 25, 75).score for series in runs])
    medians = np.mean([st.variability(np.median(series, axis=1), 25, 75).score for series in runs])
    assert bounds == pytest.approx(1.08, abs=0.05 + 1.5 / np.sqrt(repetitions))
    assert medians == pytest.approx(0.86, abs=0.05 + 1.5 / np.sqrt(repetitions))
