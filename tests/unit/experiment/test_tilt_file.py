"""Tilted workloads in experiment files: read, refused with what lifts it, written."""

from pathlib import Path

import pytest

from simulation_directory import simulation_text
from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.tilts import DefensiveTilt, SwitchingTilt
from trialwise.experiment.writing import write_experiment

FILE = simulation_text(
    """
[metrics.p99]
quantity = "fct"
measure = "p99"
[tilts.dctcp]
method = "switching"
mu = 11.7
sigma = 2.8
tilted_mu = 12.5
tilted_sigma = 3.0
threshold = "12ms"
[tilts.hpcc]
method = "defensive"
edges = [0, 0.9, 1]
density = [0.95, 1.45]
most = 44
[tilts.timely]
method = "none"
""",
    workload='sizes = "websearch", load = "30%", duration = "20ms", tilt = "{scheme}"',
    topology="dumbbell:10x10,100Gbit/s,1us",
    factors='scheme = ["dctcp", "hpcc", "timely"]',
)


def read(text: str = FILE):
    return parse_experiment(text, Path("/somewhere/experiment.toml"))


def test_tilts_become_the_model_and_are_written():
    experiment = read()
    assert dict(experiment.trial.tilts) == {
        "dctcp": SwitchingTilt(11.7, 2.8, 12.5, 3.0, 0.012),
        "hpcc": DefensiveTilt((0, 0.9, 1), (0.95, 1.45), 44),
        "timely": None,
    }
    assert experiment.metric("p99").estimand == "pooled"
    assert read(write_experiment(experiment)) == experiment


def test_the_bound_of_a_defensive_tilt_is_that_of_its_smallest_density():
    assert DefensiveTilt((0, 0.5, 1), (0.5, 1.5), 1).bound == pytest.approx(0.693147, rel=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('tilt = "{scheme}"', 'tilt = "dctpc"', 'no tilt is called "dctpc"; did you mean "dctcp"?'),
        ("sigma = 2.8\n", "", "tilts.dctcp.sigma"),
        ("mu = 11.7", "mu = 11.7\nmost = 3", 'only valid with method = "defensive"'),
        ("edges = [0, 0.9, 1]", "edges = [0, 0.9]", "must rise from 0 to 1"),
        ("edges = [0, 0.9, 1]", "edges = [0, 0.5, 0.9, 1]", "2 numbers for 3 pieces"),
        ("density = [0.95, 1.45]", "density = [0.95, 2]", "mean 1.055"),
        ('measure = "p99"', 'measure = "mean"', "is not a tail quantile"),
        ('measure = "p99"', 'measure = "p5"', "is not a tail quantile"),
        ('quantity = "fct"', 'quantity = "slowdown"', "is not of flow completion times"),
        ('quantity = "fct"', 'quantity = "queue"', "is not of flow completion times"),
        ('quantity = "fct"', 'quantity = "fct"\nsizes = "0B..100kB"', "does not go with a tilt"),
        ('measure = "p99"', 'measure = "p99"\nestimand = "per_trial"', "those of another workload"),
        ('measure = "p99"', 'measure = "p99"\nmargin = "5%"', "are not compared"),
        (
            'measure = "p99"',
            'measure = "p99"\nstop = { precision = "5%" }\n[design]\nlooks = "cceval"',
            "judges no weighted quantile of all trials",
        ),
        (
            'measure = "p99"',
            'measure = "p99"\nestimand = "model_based"\nstop = { precision = "5%" }\n[design]\nlooks = "anytime"',
            "judges no batches of tilted trials",
        ),
        (
            'measure = "p99"',
            'measure = "p99"\nestimand = "model_based"\nstop = { precision = "5%", of = "median" }',
            "of batches the mean is known",
        ),
        (
            'measure = "p99"',
            'measure = "p99"\nstop = { precision = "5%", controls = "fluid" }',
            "these are tilted",
        ),
        ('scheme = "{scheme}"', 'scheme = "{scheme}"\nwarmup = "1ms"', "does not go with a tilt"),
        ('tilt = "{scheme}"', 'tilt = "{scheme}", arrivals = "bursty:mean=4"', "takes Poisson arrivals"),
        (
            ', tilt = "{scheme}" }',
            ' }\n[metrics.m]\nquantity = "fct"\nestimand = "model_based"',
            "takes a tilted workload",
        ),
    ],
)
def test_what_cannot_be_is_refused(old: str, new: str, said: str):
    assert old in FILE
    with pytest.raises(PlanError) as refused:
        read(FILE.replace(old, new, 1))
    assert said in str(refused.value)


def test_other_kinds_have_no_tilts():
    text = '[experiment]\nname = "x"\n[trial]\ncommand = "true"\n[metrics.t]\nresource = "wall"\n'
    with pytest.raises(PlanError, match='only valid with kind = "simulation"'):
        read(text + '[tilts.a]\nmethod = "none"\n')
