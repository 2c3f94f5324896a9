"""Reading metrics again holds what one trial has, and not what all have."""

from __future__ import annotations

import tracemalloc

from tests.system.conftest import Bench

from trialwise.execution.rereading import read_again
from trialwise.experiment.reading import read_experiment
from trialwise.study.locating import opened

ROWS, TRIALS = 20_000, 4


def test_no_sample_is_held_of_the_trials_that_were_read(bench: Bench):
    bench.write(f"sh -c 'seq {ROWS}'", rounds=TRIALS).run()
    bench.file.write_text(bench.file.read_text() + '[metrics.a]\nstdout = "([0-9]+)"\nmatches = "all"\n')
    experiment = read_experiment(bench.file)
    with opened(bench.directory) as (_, directory, ledger):
        read_again(experiment.metrics, experiment, directory, ledger, partly=False)  # imports
        tracemalloc.start()
        try:
            found = read_again(experiment.metrics, experiment, directory, ledger, partly=False)
            held, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert [each.trials for each in found] == [TRIALS]
    assert most > ROWS * 8  # it was read
    assert held < ROWS * 8
