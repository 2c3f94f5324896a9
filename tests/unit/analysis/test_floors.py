"""A noise floor beside verdicts: a difference under it is undecided."""

import dataclasses

import pytest

from calibration_data import bench
from trialwise.analysis.calibration.calibrating import calibrate
from trialwise.analysis.calibration.noise_floor import with_floor
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.experiment.model import Extent


def sides(shift, *, rounds=200, seed=4, treatments=("x=1",), **planted):
    a = bench([seed, 1], rounds=rounds, sides=False, treatments=treatments, **planted)
    b = bench([seed, 2], rounds=rounds, sides=False, treatments=treatments, mean=100 + shift, **planted)
    # Trials of their own in the same boot.
    names = b.table["trial"] + "b"
    return a, dataclasses.replace(b, table=b.table.with_columns(trial=names, process=names))


@pytest.fixture(scope="module")
def ruler():
    return calibrate(bench(1, rounds=10))


def test_a_difference_under_the_floor_is_undecided(ruler):
    plain = compare(*sides(0.4))
    assert plain.rows[0].verdict == "different"
    (row,) = with_floor(plain, ruler).rows
    assert (row.verdict, row.more) == ("undecided", None)
    assert "under the noise floor of this bench" in row.reason
    assert row.floor.n == 10
    # More trials than the calibration had do not make it smaller.
    assert row.floor.value == ruler.rows[0].floor.value


def test_a_difference_over_it_stays(ruler):
    (row,) = with_floor(compare(*sides(4.0)), ruler).rows
    assert row.verdict == "different"
    assert row.floor.percent == pytest.approx(ruler.rows[0].floor.percent, rel=0.02)


def test_fewer_trials_have_a_wider_floor(ruler):
    (row,) = with_floor(compare(*sides(4.0, rounds=5)), ruler).rows
    assert row.floor.value == pytest.approx(ruler.rows[0].floor.value * 2**0.5)


def test_a_treatment_that_was_not_calibrated_takes_the_largest_of_the_others():
    ruler = calibrate(bench(1, rounds=10, treatments=("x=1", "x=2")))
    (row,) = with_floor(compare(*sides(4.0, treatments=("x=3",))), ruler).rows
    largest = max(ruler.rows, key=lambda one: one.floor.percent)
    assert row.floor.treatment == largest.treatment
    assert row.floor.percent == pytest.approx(largest.floor.percent)


def test_a_metric_without_a_floor_is_named(ruler):
    a, b = sides(4.0, metrics=("energy",))
    found = with_floor(compare(a, b), ruler)
    assert found.rows[0].floor is None
    assert found.notes["bench"] == ("bench has no floor for energy",)


def test_a_margin_under_the_floor_is_said(ruler):
    options = CompareOptions(margin=Extent(0.3, relative=True))
    (row,) = with_floor(compare(*sides(0.0), options), ruler).rows
    assert "the margin is under the noise floor" in row.reason


def test_sides_in_boots_of_their_own_need_a_floor_of_such():
    a = bench(5, rounds=4, boots=4, sides=False, boot=1.0)
    b = bench(6, rounds=4, boots=4, sides=False, boot=1.0)
    other = b.table.with_columns(
        [(b.table[name] + "b").alias(name) for name in ("boot", "build", "process", "trial")]
    )
    compared = compare(a, dataclasses.replace(b, table=other))
    assert compared.rows[0].units.level == "boot"
    assert with_floor(compared, calibrate(bench(1, rounds=10))).rows[0].floor is None
    apart = calibrate(bench(1, rounds=4, boots=8, boot=1.0))
    assert with_floor(compared, apart).rows[0].floor.value == apart.rows[1].floor.value
