"""Estimates of few long simulated trials from slices of their time, against the flow records cut by hand."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from simulation_directory import run_simulation, simulation_text
from trialwise import study
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.simulation import SimulationTrial
from trialwise.experiment.steady_flows import not_steady

METRICS = """
[metrics.mean]
quantity = "fct"
measure = "mean"
estimand = "pooled"
[metrics.p50]
quantity = "slowdown"
measure = "p50"
estimand = "pooled"
[metrics.p999]
quantity = "fct"
measure = "p99.9"
estimand = "pooled"
[design]
series = 1
rounds = ROUNDS
"""
WORKLOAD = 'sizes = "fixed:5kB", load = "30%", load_of = "host", pattern = "all-to-all", duration = "9ms"'


def estimates(folder: Path, rounds: int):
    text = simulation_text(
        METRICS.replace("ROUNDS", str(rounds)),
        workload=WORKLOAD,
        topology="leaf-spine:2x2x2,10Gbit/s,1us",
        factors='scheme = ["dctcp"]',
    )
    directory = run_simulation(folder, text)
    found = study.analyse(directory).estimation
    assert found is not None
    return directory, {each.metric: each.own for each in found.estimates}


def test_one_long_trial_has_intervals_from_slices_of_its_time(tmp_path: Path) -> None:
    directory, found = estimates(tmp_path, 1)
    flows = pl.read_parquet(next((directory / "samples").glob("*-flows.parquet")))
    start, fct = (flows[name].to_numpy() / 1e12 for name in ("start_ps", "fct_ps"))
    mean = found["mean"]
    assert mean.slices is not None
    assert mean.low is not None
    assert mean.high is not None
    far = np.percentile(fct, 99)
    assert mean.slices.begin >= far, "flows of the start are left out"
    assert mean.slices.end == pytest.approx(9e-3 - far)
    assert mean.slices.seconds >= 5 * far
    inside = (start >= mean.slices.begin) & (start < mean.slices.end)
    assert mean.samples == inside.sum()
    assert mean.estimate == pytest.approx(fct[inside].mean())
    edges = np.linspace(mean.slices.begin, mean.slices.end, mean.slices.count + 1)
    sums, counts = (np.histogram(start[inside], edges, weights=of)[0] for of in (fct[inside], None))
    residuals = sums - mean.estimate * counts
    n = mean.slices.count
    error = (n / (n - 1) * np.sum(residuals**2)) ** 0.5 / counts.sum() / (1 - mean.slices.missed) ** 0.5
    assert (mean.high - mean.low) / 2 == pytest.approx(2.02 * error, rel=0.05), "Student's t, a little skewed"
    assert f"{n} slices" in mean.method
    assert f"from {n} slices of " in mean.note
    assert found["p50"].slices is not None
    p999 = found["p999"]
    assert (p999.low, p999.slices) == (None, None)
    assert "lie beyond p99.9, and slices of time take 1000; one about" in p999.note
    assert p999.note.endswith("times as long, or two trials or more lift that")


def test_few_trials_have_theirs_from_slices_of_all_and_say_what_trials_give(tmp_path: Path) -> None:
    directory, found = estimates(tmp_path, 3)
    mean = found["mean"]
    assert mean.slices is not None
    assert mean.trials == 3
    assert mean.slices.count in range(20, 43)
    assert "3 trials with all flows as the unit: " in mean.note
    files = sorted((directory / "samples").glob("*-flows.parquet"))
    frames = [pl.read_parquet(file) for file in files]
    inside = [
        frame.filter(
            (pl.col("start_ps") / 1e12 >= mean.slices.begin) & (pl.col("start_ps") / 1e12 < mean.slices.end)
        )
        for frame in frames
    ]
    assert mean.estimate == pytest.approx(pl.concat(inside)["fct_ps"].mean() / 1e12)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pattern": "permutation"}, "drawn once for each trial"),
        ({"sizes": "pareto:mean=100kB,shape=2.2"}, "no largest one"),
        ({"engine": "paths"}, "samples paths once"),
        ({"faults": "4-5 down 1ms, 4-5 up 2ms"}, "changes with time"),
        ({"job": "ring-all-reduce:8MB"}, "not all drawn by one pattern"),
    ],
)
def test_what_slices_do_not_show_is_refused(change: dict[str, str], why: str) -> None:
    workload = {
        "sizes": "fixed:5kB",
        "load": "30%",
        "load_of": "host",
        "pattern": "all-to-all",
        "duration": "6ms",
    }
    workload |= {key: change[key] for key in ("pattern", "sizes", "job") if key in change}
    rest = "".join(f'engine = "{change[key]}"\n' for key in ("engine",) if key in change)
    rest += "".join(f'network = {{ faults = "{change[key]}" }}\n' for key in ("faults",) if key in change)
    text = simulation_text(
        rest + METRICS.replace("ROUNDS", "1"),
        workload=", ".join(f'{key} = "{text}"' for key, text in workload.items()),
    )
    trial = parse_experiment(text, Path("x.toml")).trial
    assert isinstance(trial, SimulationTrial)
    assert why in not_steady(trial, {"scheme": "dctcp"})
    steady = parse_experiment(
        simulation_text(METRICS.replace("ROUNDS", "1"), workload=WORKLOAD), Path("x.toml")
    ).trial
    assert isinstance(steady, SimulationTrial)
    assert not_steady(steady, {"scheme": "dctcp"}) == ""


def test_one_trial_without_records_of_flows_says_so(tmp_path: Path) -> None:
    text = simulation_text(METRICS.replace("ROUNDS", "1"), workload=WORKLOAD.replace("9ms", "500us"))
    directory = run_simulation(
        tmp_path, text.replace('kind = "simulation"', 'kind = "simulation"\nrecords = "drop"')
    )
    found = study.analyse(directory).estimation
    assert found is not None
    assert all('records = "keep" lifts that' in each.own.note for each in found.estimates)
