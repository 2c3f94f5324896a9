"""What estimating costs beside simulating: the judge of an experiment that stops by itself, asked before each round.

Run with `.venv/bin/python benches/estimation.py`; the result is kept in `benches/results/estimation.json`. Allowed: 1 % of the
time that the trials themselves take. Four treatments with four pooled metrics each, of CCEval's dumbbell: 20 ms of WebSearch at 30 %.
The samples that the judge takes in are those of some simulated trials over and over, each time scaled by another factor, since equal
samples would make quantiles known soon; nothing gets narrow in the first rounds of many, and nothing is out of reach.
"""

import dataclasses
import os
import time
from itertools import islice
from pathlib import Path

import numpy as np

from measuring import write
from trialwise.analysis.stopping.verdicts import StoppingMonitor
from trialwise.design.plan import make_plan
from trialwise.experiment.reading import parse_experiment
from trialwise.measurement.samples import Samples
from trialwise.study import planned_row
from trialwise.trials.simulating import filled, simulate

LIMIT_SHARE = 0.01
ROUNDS, SIMULATED = 2000, 5
SPREAD = 0.3
TEXT = f"""
[experiment]
name = "dumbbell"
[factors]
scheme = ["dctcp", "dcqcn", "hpcc", "timely"]
[trial]
kind = "simulation"
scheme = "{{scheme}}"
topology = "dumbbell:10x10,100Gbit/s,1us"
workload = {{ sizes = "websearch", load = "30%", duration = "20ms" }}
[metrics]
mean = {{ quantity = "fct", stop = {{ precision = "0.3%" }} }}
p50 = {{ quantity = "fct", measure = 50, stop = {{ precision = "0.3%" }} }}
p99 = {{ quantity = "fct", measure = 99, stop = {{ precision = "0.3%" }} }}
p999 = {{ quantity = "fct", measure = 99.9, stop = {{ precision = "0.3%" }} }}
[design]
max_trials = {50 * ROUNDS}
"""


def main() -> None:
    experiment = parse_experiment(TEXT, Path("dumbbell.toml"))
    rows = [planned_row(trial) for trial in islice(make_plan(experiment).trials, 4 * ROUNDS)]
    source = experiment.metrics[0].source.key
    known: dict[str, list[Samples]] = {}
    begun = time.process_time()
    for row in rows[: 4 * SIMULATED]:
        trial = filled(experiment.trial, {"directory": ".", **row.factors})
        found = simulate(trial, Path(), flow_seed=row.round, seed=row.number)
        known.setdefault(row.treatment, []).append(Samples(np.asarray(found.fct)))
    simulating = (time.process_time() - begun) / (4 * SIMULATED)

    judge = StoppingMonitor(experiment)
    factors = np.random.default_rng(1).lognormal(0, SPREAD, len(rows))
    taken = [
        Samples(known[row.treatment][row.round % SIMULATED].values * factor)
        for row, factor in zip(rows, factors, strict=True)
    ]
    begun = time.process_time()
    for place, (row, samples) in enumerate(zip(rows, taken, strict=True)):
        if place % 4 == 0:
            assert judge.outlook(row)[0] is None
        judge.add(dataclasses.replace(row, session=1, worker="local", boot="0"), {source: samples})
    judging = (time.process_time() - begun) / len(rows)
    assert all(claim.state == "open" for claim in judge.state(rows[-1]).claims)
    share = judging / simulating
    write(
        "estimation",
        [
            {
                "trials": len(rows),
                "claims": 16,
                "simulating_seconds_per_trial": simulating,
                "judging_seconds_per_trial": judging,
                "share": share,
                "limit_share": LIMIT_SHARE,
                "processors": os.cpu_count(),
            }
        ],
    )
    assert share < LIMIT_SHARE, f"judging takes {share:.2%} of the time of simulating"


if __name__ == "__main__":
    main()
