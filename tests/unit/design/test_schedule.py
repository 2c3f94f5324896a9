from itertools import pairwise

import numpy as np
from scipy.stats import kstest

from trialwise.design.schedule import round_starts


def test_without_a_span_rounds_run_back_to_back(make):
    assert round_starts(make(), 1, 3) == [None, None, None]


def test_starts_are_uniform_over_the_span_of_their_series(make):
    experiment = make(design='span = "1h"')
    for series in (1, 2, 3):
        starts = round_starts(experiment, series, 500)
        assert starts == sorted(starts)
        assert kstest(starts, "uniform", args=((series - 1) * 3600, 3600)).pvalue > 0.001


def test_rounds_do_not_overlap_where_their_time_is_known(make):
    experiment = make(trial='runtime = "10s"', design='span = "1h"')
    for series in (1, 2):
        starts = round_starts(experiment, series, 100)
        assert min(after - before for before, after in pairwise(starts)) >= 30 - 1e-6
        assert starts[0] >= (series - 1) * 3600
        assert starts[-1] + 30 <= series * 3600


def test_the_time_left_over_is_shared_out_at_random(make):
    experiment = make(trial='runtime = "10s"', design='span = "1h"')
    starts = np.array(round_starts(experiment, 1, 100)) - 30 * np.arange(100)
    assert kstest(starts, "uniform", args=(0, 600)).pvalue > 0.001


def test_warm_ups_and_settling_have_their_time(make):
    reset = '[reset]\ncommand = "sync"\nsettle = "5s"\nevery = "trial"\n'
    experiment = make(trial='runtime = "10s"', design='span = "10min"\nwarmup_trials = 2', more=reset)
    starts = round_starts(experiment, 1, 5)
    assert starts[1] - starts[0] >= 3 * 45 - 1e-6
    assert starts[-1] + 45 <= 600


def test_rounds_that_do_not_fit_run_back_to_back(make):
    experiment = make(trial='runtime = "10s"', design='span = "1min"')
    assert round_starts(experiment, 1, 4) == [0.0, 30.0, 60.0, 90.0]
