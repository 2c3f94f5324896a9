"""Families of differences against Holm's procedure written out, and their time."""

import time

import numpy as np
import pytest

from trialwise import statistics as st


def holm(p_values):
    """The smallest level at which Holm's procedure rejects each."""
    order = np.argsort(p_values)
    steps = np.sort(p_values) * np.arange(len(p_values), 0, -1)
    return [min(1, steps[: place + 1].max()) for place in np.argsort(order)]


def family(seed, shifts, *, n=12, **options):
    random = np.random.default_rng(seed)
    return {
        name: st.difference(10 + random.normal(size=n), 10 + shift + random.normal(size=n), **options)
        for name, shift in enumerate(shifts)
    }


def test_without_a_margin_it_is_holm_over_the_p_values():
    differences = family(1, [0, 0.8, 1.0, 1.2, 2.0, 3.0])
    found = st.difference_family(differences)
    adjusted = holm([one.p_value for one in differences.values()])
    assert any(one <= 0.05 for one in adjusted)
    assert [one.p_adjusted for one in found.members.values()] == pytest.approx(adjusted)
    assert [one.verdict == "different" for one in found.members.values()] == [one <= 0.05 for one in adjusted]
    assert (found.n, found.confidence) == (6, 95)


def test_the_likelier_claim_of_each_is_corrected():
    differences = family(2, [0, 0, 0, 4, 5], n=40, margin=1)
    found = st.difference_family(differences)
    smaller = [min(one.p_different, one.p_equivalent) for one in differences.values()]
    adjusted = holm(smaller)
    assert [one.p_adjusted for one in found.members.values()] == pytest.approx(adjusted)
    assert [one.verdict for one in found.members.values()] == ["equivalent"] * 3 + ["different"] * 2


@pytest.mark.parametrize("options", [{}, {"margin": 0.2}, {"margin": 2, "relative": True}])
def test_a_family_costs_more_than_a_single_difference(options):
    differences = family(3, [0.7] * 8, **options)
    for key, one in st.difference_family(differences).members.items():
        single = differences[key]
        assert one.difference is single
        if one.verdict == "undecided" and single.verdict != "undecided":
            assert f"{single.verdict} by itself" in one.reason
        if one.verdict == "undecided" and one.trials_needed is not None:
            assert one.trials_needed > single.trials_needed


def test_a_family_of_one_is_the_difference():
    only = family(4, [0.5], margin=1)
    found = st.difference_family(only).members[0]
    assert (found.verdict, found.trials_needed, found.reason) == (
        only[0].verdict,
        only[0].trials_needed,
        only[0].reason,
    )


def test_a_family_has_one_confidence():
    mixed = {1: family(5, [1])[0], 2: family(5, [1], confidence=99)[0]}
    with pytest.raises(ValueError, match="one confidence"):
        st.difference_family(mixed)
    with pytest.raises(ValueError, match="no differences"):
        st.difference_family({})


def test_15_schemes_with_3_metrics_of_1000_trials_take_less_than_2_seconds():
    random = np.random.default_rng(6)
    values = [random.lognormal(size=(2, 1000)) for _ in range(45)]
    st.difference(*values[0])
    begin = time.process_time()
    differences = {place: st.difference(*pair, margin=5, relative=True) for place, pair in enumerate(values)}
    st.difference_family(differences)
    assert time.process_time() - begin < 2
