"""What `status` says of an experiment, from its directory."""

from pathlib import Path

from simulation_directory import run_simulation, simulation_text
from trialwise import study

_FILE = simulation_text(
    """
[metrics.mean_fct]
quantity = "fct"
estimand = "per_trial"
stop = { precision = "80%", of = "mean" }
[design]
max_trials = 100
""",
    workload='sizes = "fixed:20kB", load = "50%", duration = "1ms"',
)


def test_no_time_is_left_of_a_run_that_stopped_by_itself(tmp_path: Path) -> None:
    state = study.state(run_simulation(tmp_path, _FILE))
    assert state.activity == "stopped by itself"
    assert state.counts["planned"] > 0
    assert state.document.seconds_left is None
