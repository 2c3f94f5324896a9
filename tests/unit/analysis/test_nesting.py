"""The level of inference is the highest that varies."""

import numpy as np
import polars as pl
import pytest

from trialwise.analysis.nesting import count_of, units
from trialwise.analysis.trial_set import LEVELS


def side(values, **names):
    """Trials with those values; the levels that are not named are one unit for all, but each trial is itself."""
    n = len(values)
    table = {"value": [float(value) for value in values]}
    for level in LEVELS:
        table[level] = names.get(level, [f"{level}"] * n)
    if "trial" not in names:
        table["trial"] = [f"{names.get('name', 'a')}{i}" for i in range(n)]
    if "process" not in names:
        table["process"] = table["trial"]
    return pl.DataFrame(table)


def test_trials_of_one_boot_are_the_units():
    found = units(side([1, 2, 3], name="a"), side([4, 5], name="b"))
    assert (found.level, found.paired, found.refusal) == ("trial", False, None)
    assert found.a.tolist() == [1, 2, 3]
    assert found.b.tolist() == [4, 5]
    assert found.counts["boot"] == (1, 1)


def test_boots_are_the_units_where_there_are_several_and_trials_inside_them_do_not_add_any():
    boots = ["1", "1", "1", "2"]
    found = units(side([1, 2, 3, 10], boot=boots, name="a"), side([5, 5, 5, 20], boot=boots, name="b"))
    assert (found.level, found.paired) == ("boot", True)
    assert found.a.tolist() == [2, 10]
    assert found.b.tolist() == [5, 20]


def test_more_trials_inside_a_boot_leave_the_number_of_units():
    rng = np.random.default_rng(1)
    for trials in (1, 10, 100):
        boots = [str(boot) for boot in range(4) for _ in range(trials)]
        found = units(
            side(rng.normal(size=4 * trials), boot=boots, name="a"),
            side(rng.normal(size=4 * trials), boot=boots, name="b"),
        )
        assert len(found.a) == len(found.b) == 4


def test_units_of_one_side_alone_are_left_out_of_pairs():
    found = units(side([1, 2, 3], boot=["x", "y", "z"], name="a"), side([7, 8], boot=["z", "y"], name="b"))
    assert found.paired
    assert found.a.tolist() == [2, 3]
    assert found.b.tolist() == [8, 7]
    assert found.counts["boot"] == (3, 2)


def test_one_boot_on_each_side_is_no_inference_however_many_trials_there_are():
    found = units(side(range(50), boot=["x"] * 50, name="a"), side(range(50), boot=["y"] * 50, name="b"))
    assert found.level == "boot"
    assert found.refusal == "no inference from one boot on each side: each side takes at least two"


def test_one_trial_on_a_side_is_no_inference():
    found = units(side([1], name="a"), side([1, 2, 3], name="b"))
    assert "1 and 3 trials" in found.refusal


def test_a_level_can_be_chosen():
    boots = ["1", "1", "2", "2"]
    found = units(
        side([1, 2, 3, 4], boot=boots, name="a"), side([1, 2, 3, 4], boot=boots, name="b"), level="trial"
    )
    assert (found.level, found.paired, len(found.a)) == ("trial", False, 4)


def test_a_unit_with_many_trials_in_one_process_weighs_each_process_alike():
    processes = ["p", "p", "p", "q"]
    found = units(
        side([0, 0, 0, 4], boot=["1"] * 4, process=processes, name="a"),
        side([1, 1], boot=["2"] * 2, name="b"),
        level="boot",
    )
    assert found.a.tolist() == [2]


def test_one_process_on_each_side_is_no_inference_however_many_trials_it_ran():
    found = units(
        side(range(50), process=["p"] * 50, name="a"), side(range(50), process=["q"] * 50, name="b")
    )
    assert found.level == "process"
    assert found.refusal == (
        "no inference from one process on each side: each side takes at least two "
        "(more series, where the trials of one share a process)"
    )


def test_two_sides_of_one_process_are_no_inference_however_often_each_was_repeated():
    a, b = (side(range(9), process=["p"] * 9, name=name) for name in "ab")
    found = units(a, b)
    assert found.level == "process"
    assert found.refusal.startswith("no inference from one process that both sides share")
    assert units(a, b, level="trial").refusal is None


def test_a_shared_process_against_trials_of_their_own_is_judged_by_processes():
    found = units(side(range(9), process=list("pppqqqrrr"), name="a"), side([1, 2, 3], name="b"))
    assert (found.level, found.a.tolist(), found.b.tolist()) == ("process", [1, 4, 7], [1, 2, 3])


@pytest.mark.parametrize(
    "numbers",
    [[3, 1, 2, 3, 1], [7, 5, 6], [-4, 2, -4, 9], [1 << 60, 1, 1 << 60, 5], [200, 3, 200], [2, None, 2, 1]],
)
def test_numbers_are_counted_once_whether_close_or_far_apart(numbers):
    kind = pl.UInt8 if numbers[0] == 200 else pl.Int64
    assert count_of(pl.Series(numbers, dtype=kind)) == len(set(numbers))


@pytest.mark.parametrize(("first", "paired"), [(1, False), (2, True)])
def test_sides_are_paired_only_where_numbered_units_are_on_both(first, paired):
    a = side([1, 2, 3, 4], process=[0, 2, 4, 6], trial=[0, 2, 4, 6])
    b = side([5, 6, 7], process=[first, 5, 7], trial=[first, 5, 7])
    found = units(a, b, "process")
    assert (found.paired, found.b.tolist()) == (paired, [5] if paired else [5, 6, 7])
