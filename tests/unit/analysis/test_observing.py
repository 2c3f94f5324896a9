"""Flavours against their base: the family, errors against 0, what cannot be asked."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from trialwise import statistics as st
from trialwise.analysis.observing.observing import ObserveOptions, observe
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Extent


def trial_set(cells, margins=None, better="higher"):
    """A set from (metric, flavour, rate) to its values."""
    rows = [
        (metric, f"f={flavour} rate={rate}", float(value), "h", "b", "b", t, t, "1", "1.1", None, 3.0)
        for (metric, flavour, rate), values in cells.items()
        for i, value in enumerate(values)
        for t in [f"{flavour}{rate}.{i}"]
    ]
    treatments = {f"f={flavour} rate={rate}": {"f": flavour, "rate": rate} for _, flavour, rate in cells}
    metrics = {name: MetricFacts(name, "kB", better, (margins or {}).get(name)) for name, _, _ in cells}
    return TrialSet("set", metrics, treatments, pl.DataFrame(rows, schema=SCHEMA, orient="row"))


def draw(seed, mean, n=20, spread=1.0):
    return np.random.default_rng(seed).normal(mean, spread, n)


FIVE = {"speed": Extent(5.0, relative=True)}


def three_flavours():
    cells = {("speed", "none", rate): draw(rate, 100) for rate in (1, 9)}
    cells |= {("speed", "light", rate): draw(10 + rate, 100) for rate in (1, 9)}
    return cells | {("speed", "heavy", 1): draw(21, 100), ("speed", "heavy", 9): draw(29, 80)}


def test_each_flavour_is_judged_against_the_base_at_its_own_load_in_one_family():
    cells = three_flavours()
    found = observe(trial_set(cells, FIVE), "f", "none")
    assert found.correction == "Holm over 4 differences"
    assert {(row.flavour, row.load["rate"]): row.verdict for row in found.rows} == {
        ("light", 1): "equivalent",
        ("light", 9): "equivalent",
        ("heavy", 1): "equivalent",
        ("heavy", 9): "different",
    }
    assert found.verdict == "different"
    assert found.counts == {"different": 1, "equivalent": 3, "undecided": 0, "no inference": 0}
    worse = found.rows[-1]
    alone = st.difference(cells["speed", "none", 9], cells["speed", "heavy", 9], margin=5, relative=True)
    assert (worse.direction, worse.n_base, worse.n) == ("worse", 20, 20)
    assert (worse.estimate, worse.low, worse.high) == pytest.approx(
        (alone.welch.estimate, alone.welch.low, alone.welch.high)
    )
    assert (worse.percent_low, worse.percent_high) == pytest.approx((alone.percent.low, alone.percent.high))
    assert worse.p_different == pytest.approx(alone.p_different)


def test_all_equivalent_is_the_only_way_to_no_effect():
    cells = {key: values for key, values in three_flavours().items() if key[1] != "heavy"}
    assert observe(trial_set(cells, FIVE), "f", "none").verdict == "equivalent"
    without = observe(trial_set(cells), "f", "none")
    assert without.verdict == "undecided"
    assert any("has no margin" in note for note in without.notes)


def test_an_open_row_has_its_bill():
    cells = {("speed", "none", 1): draw(1, 100, 5, 8), ("speed", "light", 1): draw(2, 100, 5, 8)}
    (row,) = observe(trial_set(cells, FIVE), "f", "none").rows
    assert row.verdict == "undecided"
    assert row.more > 5
    assert row.more_seconds == pytest.approx(6.0 * row.more)


def test_an_error_is_judged_against_zero_by_students_t_in_the_same_family():
    cells = {("speed", "none", 1): draw(1, 100), ("speed", "light", 1): draw(2, 100)}
    cells |= {("wrong", "none", 1): draw(3, 0.0, 20, 0.1), ("wrong", "light", 1): draw(4, 2.0, 20, 0.1)}
    margins = FIVE | {"wrong": Extent(0.5, relative=False)}
    found = observe(trial_set(cells, margins), "f", "none", ObserveOptions(errors=("wrong",)))
    assert found.correction == "Holm over 4 differences"
    base, light = [row for row in found.rows if row.question == "error"]
    assert [(row.flavour, row.metric, row.verdict) for row in (base, light)] == [
        ("none", "wrong", "equivalent"),
        ("light", "wrong", "different"),
    ]
    values = cells["wrong", "none", 1]
    below = stats.ttest_1samp(values, -0.5, alternative="greater").pvalue
    above = stats.ttest_1samp(values, 0.5, alternative="less").pvalue
    assert base.p_equivalent == pytest.approx(max(below, above))
    assert (base.low, base.high) == pytest.approx(stats.ttest_1samp(values, 0).confidence_interval(0.95))
    assert (base.mean_base, base.percent) == (0.0, None)


def test_an_error_that_never_varies_is_judged():
    cells = {("wrong", "none", 1): [0.0] * 20, ("wrong", "light", 1): [0.0] * 20}
    margins = {"wrong": Extent(0.5, relative=False)}
    found = observe(trial_set(cells, margins), "f", "none", ObserveOptions(errors=("wrong",)))
    assert {row.verdict for row in found.rows} == {"equivalent"}


def test_margins_of_the_command_line_go_first():
    cells = {key: values for key, values in three_flavours().items() if key[1] != "light"}
    wide = ObserveOptions(margins={"speed": Extent(50.0, relative=True)}, margin=Extent(1e-6, relative=False))
    assert observe(trial_set(cells, FIVE), "f", "none", wide).verdict == "equivalent"


def test_what_cannot_be_judged_is_said_and_the_rest_is_judged():
    cells = three_flavours()
    del cells["speed", "none", 1]
    cells["speed", "light", 9] = [100.0]
    cells["other", "light", 9] = [1.0, 2.0]
    found = observe(trial_set(cells, FIVE), "f", "none")
    assert {(row.flavour, row.verdict) for row in found.rows} == {
        ("light", "no inference"),
        ("heavy", "different"),
    }
    assert sum("no f=none to compare it with" in note for note in found.notes) == 2
    assert any("other" in note and "not judged" in note for note in found.notes)
    one = next(row for row in found.rows if row.verdict == "no inference")
    assert (one.low, one.p_adjusted, one.n) == (None, None, 1)


@pytest.mark.parametrize(
    ("factor", "base", "options", "said"),
    [
        ("g", "none", {}, "no factor 'g'"),
        ("f", "nothing", {}, "no level 'nothing'"),
        ("f", "none", {"errors": ("speed",)}, "not in percent"),
        ("f", "none", {"errors": ("sped",)}, "no metric 'sped'"),
        ("f", "none", {"margins": {"sped": Extent(1, relative=False)}}, "'sped'"),
    ],
)
def test_what_makes_no_sense_is_refused(factor, base, options, said):
    with pytest.raises(AnalysisError, match=said):
        observe(trial_set(three_flavours(), FIVE), factor, base, ObserveOptions(**options))


def test_one_flavour_has_nothing_to_be_compared_with():
    with pytest.raises(AnalysisError, match="one level"):
        observe(trial_set({("speed", "none", 1): [1.0, 2.0]}), "f", "none")


def test_flavours_without_any_value_are_said_to_have_nothing_in_common():
    cells = {("speed", "none", 1): [1.0, 2.0], ("other", "light", 1): [1.0, 2.0]}
    with pytest.raises(
        AnalysisError, match="no other level of f has a metric and a load in common with none"
    ):
        observe(trial_set(cells), "f", "none")


def test_a_flavour_of_which_one_trial_makes_most_of_the_variance_is_named():
    cells = three_flavours()
    cells["speed", "light", 9][3] = 400.0
    notes = [note for note in observe(trial_set(cells, FIVE), "f", "none").notes if "variance" in note]
    assert len(notes) == 1
    assert notes[0].startswith("speed of f=light rate=9: the largest trial makes")
