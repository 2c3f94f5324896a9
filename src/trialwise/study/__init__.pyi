"""A study: what the package offers, and the module that each name comes from; `__init__.py` imports it with its first use."""

from trialwise.execution.worker_plan import planned_row
from trialwise.study.awaited import awaited_claims, state
from trialwise.study.checking import check_chain
from trialwise.study.facts_of_paths import path_facts
from trialwise.study.heavy_tails import tails
from trialwise.study.locating import default_directory, itself, load, open_directory
from trialwise.study.reading import (
    analyse,
    calibration,
    comparison_set,
    effects_input,
    metrics_apart,
    nested_values,
    observed,
    order_trials,
    order_view,
    trial_set,
    verdict_view,
)
from trialwise.study.running import run, run_experiment, run_pilot
from trialwise.study.sessions import RunResult, check_samples
from trialwise.study.sources import calibration_of, trials
from trialwise.study.standing import State
from trialwise.study.stopping import chosen_levels

__all__ = [
    "RunResult",
    "State",
    "analyse",
    "awaited_claims",
    "calibration",
    "calibration_of",
    "check_chain",
    "check_samples",
    "chosen_levels",
    "comparison_set",
    "default_directory",
    "effects_input",
    "itself",
    "load",
    "metrics_apart",
    "nested_values",
    "observed",
    "open_directory",
    "order_trials",
    "order_view",
    "path_facts",
    "planned_row",
    "run",
    "run_experiment",
    "run_pilot",
    "state",
    "tails",
    "trial_set",
    "trials",
    "verdict_view",
]
