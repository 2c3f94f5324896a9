"""Published differences, ratios and intervals."""

import re
from pathlib import Path

import pytest

from trialwise import statistics as st

WALKTHROUGH = Path(__file__).resolve().parents[3] / "shared" / "papers" / "004_cebae020dc70e8ff.txt"
# Hollander and Wolfe (1973), page 69: permeability of the human chorioamnion at term and at 12 to 26 weeks.
AT_TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
BETWEEN = [1.15, 0.88, 0.90, 0.74, 1.21]
# Student (1908), hours of sleep gained with either drug: the data set `sleep` of R.
DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_hodges_and_lehmann_as_wilcox_test_of_r_prints_it():
    """`wilcox.test(x, y, conf.int = TRUE)` of the help page's data: difference in location .305, -.15 to .76."""
    found = st.difference(BETWEEN, AT_TERM).hodges_lehmann
    assert (found.estimate, found.low, found.high) == pytest.approx((0.305, -0.15, 0.76))


def test_welch_as_t_test_of_r_prints_it():
    """`t.test(extra ~ group, data = sleep)`: t = -1.8608, df = 17.776, p = .07939, -3.3654832 to .2054832."""
    found = st.difference(DRUG_2, DRUG_1)
    assert found.welch.df == pytest.approx(17.776, abs=5e-4)
    assert found.p_value == pytest.approx(0.07939, abs=5e-6)
    assert (found.welch.low, found.welch.high) == pytest.approx((-3.3654832, 0.2054832), abs=5e-8)
    assert found.welch.estimate / found.welch.se == pytest.approx(-1.8608, abs=5e-5)


def test_fieller_of_equal_spread_is_the_published_formula():
    """Fieller (1954) in the form of Franz (2007), with g = t² va / a²: at equal n and variance the degrees of freedom differ
    only by Satterthwaite's weights of both ends."""
    spread = [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0] * 20
    a, b = [100 + value for value in spread], [130 + value for value in spread]
    found = st.difference(a, b).ratio
    variance = sum(value**2 for value in spread) / (len(spread) - 1) / len(spread)
    ratio, g = 1.3, 1.97**2 * variance / 100**2
    reach = 1.97 / 100 * ((1 - g) * variance + ratio**2 * variance) ** 0.5
    low, high = ((ratio + sign * reach) / (1 - g) for sign in (-1, 1))
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-5)


def rows():
    if not WALKTHROUGH.exists():
        pytest.skip(f"{WALKTHROUGH} is not there")
    pattern = re.compile(
        r"^\s*(\w+)\s+(\d+)\s+(\d+)\s+(.*?)\s+([\d.]+)\s+([\d.]+)\s+([+-][\d.]+)%\s+([\d.]+)\s+([\d.]+)\s+([+-][\d.]+)%"
    )
    matches = (pattern.match(line) for line in WALKTHROUGH.read_text().splitlines())
    return [found.groups() for found in matches if found]


def made(n, mean, deviation):
    """Values with this mean and this deviation (n in the denominator)."""
    step = deviation * (n / 2) ** 0.5
    return [mean + step, mean - step, *[mean] * (n - 2)] if n > 1 else [mean]


def test_the_rows_of_the_walkthrough():
    """From each printed row's means and deviations follow its printed percentages, within what rounding leaves open."""
    seen = rows()
    assert len(seen) >= 150
    for _, runs_1, runs_2, _, mean_1, mean_2, percent, deviation_1, deviation_2, change in seen:
        first = made(int(runs_1), float(mean_1), float(deviation_1))
        second = made(int(runs_2), float(mean_2), float(deviation_2))
        found = st.summary_difference(first, second)
        assert found.n == (int(runs_1), int(runs_2))
        open_means = 0.005 * (1 + (1 + abs(float(percent)) / 100)) / (float(mean_1) - 0.005) * 100 + 0.01
        assert found.percent_difference == pytest.approx(float(percent), abs=open_means)
        if int(runs_2) == 1:
            assert found.standard_deviations[1] == 0
            assert found.percent_difference_deviation == float(change) == -100
