"""Sobol samples: the same for the same round, uniform, blocks of their own; and in an experiment."""

from pathlib import Path

import numpy as np
import pytest

from simulation_directory import run_simulation
from trialwise import study
from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.writing import write_experiment
from trialwise.trials.sobol import dimensions, sobol_point

TEXT = """
[experiment]
name = "sobol"
seed = 5
[trial]
kind = "simulation"
scheme = "dctcp"
topology = "dumbbell:2x2,10Gbit/s,1us"
workload = { sizes = "fixed:20kB", load = "50%", duration = "500us", sampling = "sobol" }
records = "drop"
[metrics.p90]
quantity = "fct"
measure = "p90"
[metrics.flows]
[design]
series = 1
rounds = 512
"""


def test_each_block_is_a_sample_of_its_own():
    points = np.array([sobol_point(1, 1, round_, 10) for round_ in range(1, 513)])
    assert points.shape == (512, dimensions(10))
    for block in (points[:256], points[256:]):  # each sixteenth of each coordinate has as many
        counts = [np.bincount((16 * column).astype(int), minlength=16) for column in block.T]
        assert np.all(np.array(counts) == 16)
    assert not np.any(points[0] == points[256])
    np.testing.assert_array_equal(points[300], sobol_point(1, 1, 301, 10))
    assert not np.any(points[0] == sobol_point(1, 2, 1, 10))
    assert dimensions(10_000) == 257


def test_an_experiment_says_blocks_and_what_they_gain(tmp_path: Path):
    found = study.analyse(run_simulation(tmp_path, TEXT)).estimation
    flows = next(one.own for one in found.estimates if one.metric == "flows")
    assert (flows.trials, found.estimates[0].own.trials) == (512, 512)
    assert "2 blocks of 256 trials" in flows.note
    gain = float(flows.note.split("gain ")[1].split()[0])
    assert gain > 3
    assert "2 blocks" in next(one.own.note for one in found.estimates if one.metric == "p90")
    assert flows.low < flows.estimate < flows.high


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("rounds = 512", "rounds = 300"), "whole blocks of 256"),
        (("rounds = 512", ""), "whole blocks of 256"),
        (("rounds = 512", "rounds = 256"), "two blocks or more"),
        (
            ('measure = "p90"', 'measure = "p90"\nstop = { precision = "5%", controls = "fluid" }'),
            "control variates take trials that are drawn each by itself",
        ),
        (('sampling = "sobol"', 'sampling = "sobol", arrivals = "bursty:mean=3"'), "poisson"),
        (('"sobol" }', '"soboll" }'), "sobol"),
    ],
)
def test_what_does_not_go_with_blocks_is_refused(change, message):
    with pytest.raises(PlanError, match=message):
        parse_experiment(TEXT.replace(*change), Path("x.toml"))


def test_the_file_is_written_as_it_is_read():
    experiment = parse_experiment(TEXT, Path("x.toml"))
    assert parse_experiment(write_experiment(experiment), Path("x.toml")) == experiment
