"""Plans of any experiment that a file can state."""

import dataclasses
import json
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from trialwise.cli.schema import json_schema
from trialwise.design.budget import plan_budget
from trialwise.design.plan import make_plan, plan_digest
from trialwise.design.sizing import size
from trialwise.design.summary import plan_json, summarise
from trialwise.design.timing import TrialTimes, total_seconds
from trialwise.design.treatments import treatments
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.writing import write_experiment

from .strategies import endless, experiments, names

FILE = Path("/nowhere/experiment.toml")
SCHEMA = Draft202012Validator(json_schema("plan"))
relaxed = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def small(experiment, rounds, series):
    design = dataclasses.replace(experiment.design, rounds=rounds, series=series, warmup_trials=rounds % 2)
    return dataclasses.replace(experiment, design=design)


few = st.integers(1, 4)
plain = experiments().map(endless)
"""Of those that stop by themselves the sizes are bounds, which tests/unit/design/test_stopping.py looks at."""


@relaxed
@given(plain, few, few)
def test_every_treatment_once_in_every_round(experiment, rounds, series):
    plan = make_plan(small(experiment, rounds, series))
    number = len(plan.treatments)
    assert len(plan.trials) == number * series * (rounds + rounds % 2)
    for start in range(0, len(plan.trials), number):
        trials = plan.trials[start : start + number]
        assert {trial.treatment for trial in trials} == set(plan.treatments)
        assert len({(trial.series, trial.round, trial.warmup) for trial in trials}) == 1
        assert set(trials[0].factors) == {factor.name for factor in experiment.factors}
    assert len({trial.seed for trial in plan.trials}) == len(plan.trials)
    assert len({treatment.name for treatment in plan.treatments}) == number


@relaxed
@given(plain, few, few)
def test_a_file_that_is_written_has_the_same_plan(experiment, rounds, series):
    before = small(experiment, rounds, series)
    after = parse_experiment(write_experiment(before), FILE)
    assert make_plan(after).trials == make_plan(before).trials
    assert plan_digest(after) == plan_digest(before)


@relaxed
@given(plain, few, few, few, few)
def test_extensions_keep_the_trials(experiment, rounds, series, more_rounds, more_series):
    experiment = dataclasses.replace(experiment, design=dataclasses.replace(experiment.design, span=None))

    def trials(rounds, series):
        design = dataclasses.replace(experiment.design, rounds=rounds, series=series, warmup_trials=1)
        plan = make_plan(dataclasses.replace(experiment, design=design))
        return [dataclasses.replace(trial, number=0) for trial in plan.trials]

    extended = trials(rounds + more_rounds, series + more_series)
    kept = [trial for trial in extended if trial.series <= series and (trial.warmup or trial.round <= rounds)]
    assert kept == trials(rounds, series)


@relaxed
@given(plain, names)
def test_a_further_level_changes_no_other_trial(experiment, level):
    fixed = experiment.fixed_factors
    assume(fixed and level not in map(str, fixed[0].levels))
    more = dataclasses.replace(fixed[0], levels=(level, *fixed[0].levels))
    factors = tuple(more if factor is fixed[0] else factor for factor in experiment.factors)
    before = make_plan(small(experiment, 3, 2)).trials
    after = make_plan(small(dataclasses.replace(experiment, factors=factors), 3, 2)).trials
    facts = [
        [
            (trial.treatment, trial.series, trial.round, trial.warmup, trial.seed, trial.factors)
            for trial in trials
        ]
        for trials in (before, [trial for trial in after if trial.treatment.levels[0][1] != level])
    ]
    if experiment.design.order == "balanced":  # other squares, so other places, of the same trials
        facts = [sorted(each, key=str) for each in facts]
    if fixed[0] is experiment.fixed_factors[0]:
        assert facts[0] == facts[1]


@relaxed
@given(plain, st.floats(1e-3, 1e6), st.floats(1e-3, 1e12))
def test_any_plan_has_a_summary(experiment, seconds, budget):
    times = TrialTimes({each.name: seconds for each in treatments(experiment)}, 0.0, "pilot")
    summary = summarise(experiment, times=times, budget=budget, rounds_shown=2)
    SCHEMA.validate(json.loads(json.dumps(plan_json(summary), allow_nan=False)))


@relaxed
@given(plain, st.floats(1e-2, 1e4), st.floats(1, 1e6))
def test_what_is_said_to_fit_fits(experiment, seconds, budget):
    times = TrialTimes({each.name: seconds for each in treatments(experiment)}, 0.0, "pilot")
    sizing = size(experiment)
    found = plan_budget(experiment, sizing, times, budget)
    within = budget * (1 + 1e-9)
    assert found.fits == (found.needed_seconds <= budget)
    assert all(change.seconds <= within for change in found.changes)
    if found.rounds:
        design = dataclasses.replace(experiment.design, span=found.span)
        fitted = dataclasses.replace(sizing, rounds=found.rounds)
        shown = dataclasses.replace(experiment, design=design)
        assert total_seconds(shown, fitted, times) <= within
