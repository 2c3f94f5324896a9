import dataclasses

import pytest

from trialwise.design.plan import MAX_TRIALS, count_trials, first_rounds, make_plan
from trialwise.design.sizing import size
from trialwise.errors import PlanError


def place(trial):
    return trial.treatment.name, trial.series, trial.round, trial.warmup


def test_every_treatment_stands_once_in_every_round(make):
    plan = make_plan(
        make(factors="a = [1, 2, 3]\nb = ['x', 'y']", design="rounds = 4\nseries = 2\nwarmup_trials = 1")
    )
    assert len(plan.trials) == 6 * (4 + 1) * 2
    assert len({place(trial) for trial in plan.trials}) == len(plan.trials)
    assert [trial.number for trial in plan.trials] == list(range(1, len(plan.trials) + 1))
    rounds = [plan.trials[start : start + 6] for start in range(0, len(plan.trials), 6)]
    for trials in rounds:
        assert {trial.treatment for trial in trials} == set(plan.treatments)
        assert [trial.position for trial in trials] == [1, 2, 3, 4, 5, 6]
        assert len({(trial.series, trial.round, trial.warmup) for trial in trials}) == 1


def test_warm_up_rounds_come_before_each_series(make):
    plan = make_plan(make(design="rounds = 2\nseries = 2\nwarmup_trials = 1"))
    flags = [(trial.series, trial.warmup) for trial in plan.trials[::3]]
    assert flags == [(1, True), (1, False), (1, False), (2, True), (2, False), (2, False)]


def test_warm_up_has_seeds_of_its_own(make):
    plan = make_plan(make(design="rounds = 2\nwarmup_trials = 2"))
    assert len({trial.seed for trial in plan.trials}) == len(plan.trials)


def test_a_further_treatment_changes_no_other_seed_and_no_relative_order(make):
    few = make_plan(make(factors="a = [1, 2, 3]", design="rounds = 20\nseries = 2"))
    many = make_plan(make(factors="a = [9, 1, 2, 8, 3]", design="rounds = 20\nseries = 2"))
    seeds = {place(trial): trial.seed for trial in many.trials}
    assert all(seeds[place(trial)] == trial.seed for trial in few.trials)
    known = {treatment.name for treatment in few.treatments}
    kept = [place(trial) for trial in many.trials if trial.treatment.name in known]
    assert kept == [place(trial) for trial in few.trials]


def test_an_extension_keeps_what_was_planned(make):
    factors = "a = [1, 2, 3]\nn = { draw = [1, 2, 3, 4] }"
    small = make_plan(make(factors=factors, design="rounds = 5\nseries = 2"))
    large = make_plan(make(factors=factors, design="rounds = 8\nseries = 3"))
    both = {place(trial) for trial in small.trials}
    first = [dataclasses.replace(trial, number=0) for trial in small.trials]
    same = [dataclasses.replace(trial, number=0) for trial in large.trials if place(trial) in both]
    assert first == same
    assert small.digest == large.digest


def test_more_series_are_a_suffix(make):
    small = make_plan(make(design='rounds = 5\nseries = 2\nspan = "1h"'))
    large = make_plan(make(design='rounds = 5\nseries = 3\nspan = "1h"'))
    assert large.trials[: len(small.trials)] == small.trials


def test_another_seed_is_another_plan(make):
    one, other = (make_plan(make(seed=seed, design="rounds = 20")) for seed in (1, 2))
    assert [place(trial) for trial in one.trials] != [place(trial) for trial in other.trials]
    assert one.digest != other.digest


def test_fixed_order_is_that_of_the_file(make):
    plan = make_plan(make(factors="a = [3, 1, 2]", design='order = "fixed"\nrounds = 3'))
    assert [trial.factors["a"] for trial in plan.trials] == [3, 1, 2] * 3


def test_drawn_values_are_shared_by_the_round_and_differ_between_rounds(make):
    plan = make_plan(
        make(factors="a = [1, 2]\nn = { draw = { low = 1, high = 1000000 } }", design="rounds = 50")
    )
    by_round = {}
    for trial in plan.trials:
        by_round.setdefault(trial.round, set()).add(trial.factors["n"])
    assert all(len(drawn) == 1 for drawn in by_round.values())
    assert len(set().union(*by_round.values())) > 45


def test_without_factors_there_is_one_treatment(make):
    plan = make_plan(make(factors="", design="rounds = 2"))
    assert [trial.treatment.name for trial in plan.trials] == ["-", "-"]


def test_first_rounds_are_the_beginning_of_the_plan(make):
    experiment = make(design='rounds = 9\nseries = 2\nspan = "1h"')
    assert first_rounds(experiment, size(experiment), 2) == make_plan(experiment).trials[:6]


def test_a_plan_that_is_too_large_is_refused(make):
    experiment = make(design="rounds = 1000000\nseries = 1000000")
    assert count_trials(experiment, size(experiment)) > MAX_TRIALS
    with pytest.raises(PlanError, match="3000000000000 trials"):
        make_plan(experiment)


def test_names_of_treatments_are_not_ambiguous(make):
    plan = make_plan(make(factors='a = ["1 b=2", "1"]\nb = ["2", "2 b=2"]', design="rounds = 1"))
    assert len({treatment.name for treatment in plan.treatments}) == 4
    assert 'a="1 b=2" b=2' in {treatment.name for treatment in plan.treatments}


@pytest.mark.parametrize("order", ["random", "fixed+random", "balanced"])
def test_the_seed_alone_replays_the_order(make, order):
    design = f'order = "{order}"\nrounds = 12\nseries = 2\nwarmup_trials = 1'
    one, again, other = (make_plan(make(seed=seed, design=design)).trials for seed in (4, 4, 5))
    assert one == again
    assert [trial.treatment for trial in one] != [trial.treatment for trial in other]


@pytest.mark.parametrize("order", ["random", "fixed", "fixed+random", "balanced"])
def test_more_rounds_keep_the_orders_that_were(make, order):
    few, many = (make_plan(make(design=f'order = "{order}"\nrounds = {rounds}')).trials for rounds in (6, 24))
    assert many[: len(few)] == few


@pytest.mark.parametrize("order", ["fixed+random", "balanced"])
def test_a_further_treatment_changes_no_seed_under_any_order(make, order):
    few, many = (
        make_plan(make(factors=f"a = {levels}", design=f'order = "{order}"\nrounds = 12')).trials
        for levels in ("[1, 2, 3]", "[9, 1, 2, 3]")
    )
    seeds = {place(trial): trial.seed for trial in many}
    assert all(seeds[place(trial)] == trial.seed for trial in few)


def test_every_trial_says_its_order_and_its_predecessor(make):
    plan = make_plan(make(design='order = "fixed+random"\nrounds = 4\nwarmup_trials = 1'))
    words = [{trial.order for trial in plan.trials[start : start + 3]} for start in range(0, 15, 3)]
    assert words[0] == {"random"}
    assert sorted(word for each in words[1:] for word in each) == ["fixed", "fixed", "random", "random"]
    for before, trial in zip((None, *plan.trials), plan.trials, strict=False):
        assert trial.predecessor == (None if trial.position == 1 else before.treatment)
    reset = make_plan(make(design="rounds = 2", more='[reset]\ncommand = "sync"\nevery = "trial"\n'))
    assert {trial.predecessor for trial in reset.trials} == {None}


def test_a_square_that_is_too_large_is_named(make):
    with pytest.raises(PlanError, match="2250000 trials") as caught:
        make_plan(make(factors=f"a = {list(range(1500))}", design='order = "balanced"'))
    assert "whole squares of 1500 rounds" in (caught.value.hint or "")
