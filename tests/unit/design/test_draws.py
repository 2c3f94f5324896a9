import math
from collections import Counter

from scipy.stats import chisquare, kstest

from trialwise.design.draws import drawn_value
from trialwise.experiment.model import DrawnFactor


def draws(factor, number=2000, seed=5):
    return [drawn_value(factor, seed, 1, round_) for round_ in range(number)]


def test_lists_are_drawn_uniformly_with_replacement():
    found = Counter(draws(DrawnFactor("n", values=("a", "b", "c"))))
    assert set(found) == {"a", "b", "c"}
    assert chisquare(list(found.values())).pvalue > 0.001


def test_whole_numbers_reach_both_ends_uniformly():
    found = Counter(draws(DrawnFactor("n", low=-2, high=3, integer=True)))
    assert sorted(found) == [-2, -1, 0, 1, 2, 3]
    assert all(type(value) is int for value in found)
    assert chisquare(list(found.values())).pvalue > 0.001


def test_real_numbers_are_uniform():
    found = draws(DrawnFactor("n", low=-1.0, high=4.0))
    assert kstest(found, "uniform", args=(-1, 5)).pvalue > 0.001


def test_logarithms_are_uniform():
    found = draws(DrawnFactor("n", low=1e-3, high=1e6, logarithmic=True))
    assert (
        kstest([math.log(value) for value in found], "uniform", args=(math.log(1e-3), math.log(1e9))).pvalue
        > 0.001
    )


def test_whole_numbers_on_a_log_scale_have_the_probabilities_of_their_bins():
    low, high = 1, 8
    found = Counter(draws(DrawnFactor("n", low=low, high=high, integer=True, logarithmic=True), 4000))
    assert set(found) <= set(range(low, high + 1))
    shares = [math.log((k + 1) / k) / math.log((high + 1) / low) for k in range(low, high + 1)]
    observed = [found[k] for k in range(low, high + 1)]
    assert chisquare(observed, [4000 * share for share in shares]).pvalue > 0.001


def test_ends_are_never_left():
    for low, high in ((1000, 1001), (999, 1000), (2**53 - 1, 2**53)):
        factor = DrawnFactor("n", low=low, high=high, integer=True, logarithmic=True)
        assert set(draws(factor, 200)) <= {low, high}
    wide = DrawnFactor("n", low=-1.7e308, high=1.7e308)
    assert all(math.isfinite(value) for value in draws(wide, 200))


def test_a_draw_depends_on_names_alone():
    factor = DrawnFactor("n", low=0.0, high=1.0)
    assert drawn_value(factor, 5, 1, 7) == draws(factor, 8)[7]
    other = DrawnFactor("k", low=0.0, high=1.0)
    assert drawn_value(other, 5, 1, 7) != drawn_value(factor, 5, 1, 7)
    assert drawn_value(factor, 5, 2, 7) != drawn_value(factor, 5, 1, 7)
