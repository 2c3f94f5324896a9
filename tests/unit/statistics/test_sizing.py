"""How many values a claim needs."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from trialwise import statistics as st
from trialwise.statistics.tests.binomial import lower_rank

CONFIDENCES = (75, 90, 95, 99)
OMITTED = (0, 1, 2, 5)
# Percentile: for each confidence, N when 0, 1, 2 or 5 extreme values are left out.
NEEDED = {
    50: "2/5/7/14 4/7/9/17 5/8/11/18 7/11/14/22",
    75: "5/10/15/29 9/15/20/35 11/18/23/40 17/24/31/49",
    90: "14/27/39/73 22/38/52/91 29/46/61/103 44/64/81/127",
    95: "28/53/78/148 45/77/105/184 59/93/124/208 90/130/165/259",
    99: "138/269/392/742 230/388/531/926 299/473/628/1049 459/662/838/1307",
    99.9: "1386/2692/3920/7422 2302/3889/5321/9273 2995/4742/6294/10511 4603/6636/8403/13105",
}


@pytest.mark.parametrize(("percentile", "row"), NEEDED.items())
def test_the_table_of_sample_sizes(percentile, row):
    for confidence, cell in zip(CONFIDENCES, row.split(), strict=True):
        found = [st.samples_needed(percentile, confidence, robustness=out) for out in OMITTED]
        assert found == [int(number) for number in cell.split("/")]


@pytest.mark.parametrize("percentile", [75, 90, 99.9])
def test_a_lower_bound_needs_as_many_as_its_mirror_image(percentile):
    mirrored = float(Fraction(100) - Fraction(str(percentile)))
    assert st.samples_needed(mirrored, 95) == st.samples_needed(percentile, 95)


@pytest.mark.parametrize(
    ("percentile", "confidence", "sides", "expected"),
    [
        (10, 27.1, "one", 3),  # 1 - 0.9**3 = 0.271
        (10, 19, "one", 2),
        (10, 99.99, "upper", 4),  # 1 - 0.1**4
        (20, 80, "upper", 1),
        (20, 96, "upper", 2),
        (50, 75, "one", 2),
        (50, 75, "two", 3),  # 1 - 2 * 2**-3
        (50, 87.5, "two", 4),
        (50, 50, "one", 1),
    ],
)
def test_equality_is_enough(percentile, confidence, sides, expected):
    assert st.samples_needed(percentile, confidence, sides=sides) == expected


@pytest.mark.parametrize(
    ("percentile", "confidence", "robustness", "expected"),
    [(50, 95, 0, 6), (50, 95, 1, 9), (50, 95, 2, 12), (75, 95, 0, 13), (95, 95, 0, 72)],
)
def test_two_sided(percentile, confidence, robustness, expected):
    assert st.samples_needed(percentile, confidence, robustness=robustness, sides="two") == expected


PERCENTILES = (1, 5, 10, 25, 33.3, 50, 66.7, 75, 90, 95, 99, 99.9)
SIDES = (("two", "both"), ("lower", "lower"), ("upper", "upper"))


@pytest.mark.parametrize("confidence", [10, 50, 75, 87.5, 90, 95, 99, 99.99])
@pytest.mark.parametrize("percentile", PERCENTILES)
def test_an_interval_has_its_bounds_from_the_number_on_that_is_said_to_do(percentile, confidence):
    for sides, bound in SIDES:
        number = st.samples_needed(percentile, confidence, sides=sides)
        enough = st.percentile_interval(np.arange(number), percentile, confidence, bound=bound)
        assert enough.needed == number
        assert _bounds(enough, bound)
        if number > 1:
            short = st.percentile_interval(np.arange(number - 1), percentile, confidence, bound=bound)
            assert not _bounds(short, bound)


def _bounds(interval, bound):
    """Whether all bounds that were asked for are there."""
    return {
        "both": interval.low is not None and interval.high is not None,
        "lower": interval.low is not None,
        "upper": interval.high is not None,
    }[bound]


@pytest.mark.parametrize("sides", ["one", "two"])
@pytest.mark.parametrize("percentile", PERCENTILES)
def test_the_number_is_that_of_the_binomial_distribution(percentile, sides):
    """By SciPy: the smallest n whose least value is below the percentile, and greatest above it, surely enough."""
    p, miss = percentile / 100, 0.05 if sides == "one" else 0.025
    likely = {"one": [max(p, 1 - p)], "two": [p, 1 - p]}[sides]
    number = max(next(n for n in range(1, 10**5) if binom.sf(0, n, 1 - q) >= 1 - miss) for q in likely)
    assert st.samples_needed(percentile, 95, sides=sides) == number


def test_extreme_percentiles_answer_and_impossible_ones_refuse():
    assert st.samples_needed(99.9999, 99.9999) == 13_815_504
    with pytest.raises(ValueError, match=r"2\*\*53"):
        st.samples_needed(1e-300, 95)


@pytest.mark.parametrize(
    "arguments",
    [(0, 95), (100, 95), (50, 0), (50, 100), (float("nan"), 95), (50, float("inf")), (-5, 95), ("many", 95)],
)
def test_percentages_out_of_range_are_refused(arguments):
    with pytest.raises(ValueError, match=r"percentile|confidence"):
        st.samples_needed(*arguments)


@pytest.mark.parametrize(
    "options", [{"robustness": -1}, {"robustness": 1.5}, {"robustness": None}, {"sides": "both"}]
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match=r"robustness|sides"):
        st.samples_needed(50, 95, **options)


def test_the_median_of_an_odd_number_at_even_odds_whatever_the_number():
    half = Fraction(1, 2)
    assert [lower_rank(n, half, half) for n in (5, 4097, 100_001)] == [3, 2049, 50_001]
