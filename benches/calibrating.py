"""Calibrations of planted paths: are the parameters in their intervals, and do schemes that were held out tell paths of another kind?

Run with `.venv/bin/python benches/calibrating.py FOLDER [SEEDS [OUTSIDE]]`; default 50 planted paths inside of the family that is
fitted, and 10 of each kind outside of it, or with the schemes swapped. A path is drawn from its number; its ten rounds of five
schemes, simulated for 8 s each, are the real trials. CUBIC, NewReno and a saturator are fitted, Copa and BBRv3 held out; the search
has 6 s of the processor. Wanted: each parameter in its 95 % interval in 90 % of the paths; no held-out verdict "different" in 95 % of
those inside of the family; at least one in 90 % of those outside of it. The table is printed and kept in
`benches/results/calibrating.json`. What is in FOLDER is not run again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from measuring import write
from trialwise.analysis.likeness.judging import emulated_set
from trialwise.analysis.likeness.values import likeness_values
from trialwise.analysis.trial_set import SCHEMA, TrialSet
from trialwise.experiment.reading import parse_experiment
from trialwise.store.records import TrialRow
from trialwise.study.path_fitting import FitOptions, fit_trials
from trialwise.study.real_trials import RealTreatment, RealTrials
from trialwise.trials.path_plan import NOWHERE, flow_plans, settings_of
from trialwise.trials.simulated_path import packets_over

FITTED, HELD_OUT = ("udp-cubic", "udp-newreno", "udp-saturator"), ("udp-copa", "udp-bbr3")
ROUNDS, BUDGET = 10, 6.0
INSIDE = ("inside", "swapped")
"""Paths of the family that is fitted; in those called swapped, the schemes to fit and those held out change places."""

FILE = """[experiment]
name = "planted"
[factors]
scheme = ["udp-cubic"]
[trial]
kind = "path"
engine = "simulated"
scheme = "{{scheme}}"
runtime = "8s"
warmup = "2s"
[trial.path]
rate = "{rate}"
delay = "{delay}"
[trial.path.uplink]
queue = "{queue}"
{loss}
[metrics.throughput]
measure = "mean"
[design]
series = 1
rounds = 10
"""
OUTSIDE = {
    "cellular": {"rate": "cellular:rate={rate:.3f}Mbit/s,dwell=1s"},
    "fast cellular": {"rate": "cellular:rate={rate:.3f}Mbit/s"},
    "on and off": {"rate": "on-off:rate={rate:.3f}Mbit/s,on=2s,off=200ms"},
    "steps": {"rate": "series:{folder}/steps-{number}.rates"},
    "random walk": {"rate": "series:{folder}/walk-{number}.rates"},
    "CoDel": {"queue": "codel:packets=1000"},
    "PIE": {"queue": "pie:packets=1000"},
    "reordering": {"delay": "{delay:.3f}ms,jitter=5ms,reorder=yes"},
}
"""What of a planted path is of another kind."""


def planted(number: int) -> dict[str, float | str]:
    """Return the parameters of a path: rate in Mbit/s, delay in ms, queue in packets, loss in percent."""
    rng = np.random.default_rng([20, number])
    rate, delay = float(np.exp(rng.uniform(np.log(2), np.log(20)))), float(rng.uniform(5, 60))
    packets = rate * 2 * delay / 12
    queue = max(10, round(packets * float(rng.uniform(0.5, 2))))
    loss = float(rng.choice([0.0, rng.uniform(0.05, 1)]))
    return {
        "family": str(rng.choice(["constant", "poisson"])),
        "rate": rate,
        "delay": delay,
        "queue": queue,
        "loss": loss,
    }


def series(folder: Path, number: int) -> None:
    """Write the rates of a number: steps of seconds, the same in all trials, and a random walk of their logarithms."""
    rate, rng = float(planted(number)["rate"]), np.random.default_rng([22, number])
    walk = np.clip(np.cumsum(rng.normal(0, 0.15, 80)), -1.2, 1.2)
    for name, every, factors in (("steps", 1000, [1, 0.5, 1.5, 0.75] * 2), ("walk", 100, np.exp(walk))):
        lines = [f"{place * every} {rate * factor:.4f}Mbit/s\n" for place, factor in enumerate(factors)]
        (folder / f"{name}-{number}.rates").write_text("".join(lines))


def words(folder: Path, number: int, kind: str) -> dict[str, str]:
    """Return the path of a number as the file has it."""
    found = planted(number) | {"folder": str(folder), "number": number}
    constant = (
        "{rate:.3f}Mbit/s"
        if found["family"] == "constant" or kind not in INSIDE
        else "poisson:rate={rate:.3f}Mbit/s"
    )
    texts = {"rate": constant, "delay": "{delay:.3f}ms", "queue": "droptail:packets={queue}"} | OUTSIDE.get(
        kind, {}
    )
    loss = f'loss = "{found["loss"]:.4f}%"' if found["loss"] and kind in INSIDE else ""
    return {name: text.format(**found) for name, text in texts.items()} | {"loss": loss}


def real_trials(folder: Path, kind: str, number: int) -> RealTrials:
    """Simulate the trials over a planted path, as an experiment over it would have them."""
    series(folder, number)
    experiment = parse_experiment(FILE.format(**words(folder, number, kind)), folder / "planted.toml")
    settings = settings_of(experiment, NOWHERE)
    seeds = np.random.SeedSequence([21, number]).generate_state(ROUNDS * (len(FITTED) + len(HELD_OUT)))
    treatments: list[RealTreatment] = []
    for place, scheme in enumerate((*FITTED, *HELD_OUT)):
        one = RealTreatment(scheme, (scheme in HELD_OUT) != (kind == "swapped"))
        for turn in range(ROUNDS):
            plans = flow_plans(experiment, dict(NOWHERE) | {"scheme": scheme})
            packets = packets_over(settings, plans, int(seeds[place * ROUNDS + turn]))
            row = TrialRow(
                turn, 1, "finished", scheme, {}, 1, turn + 1, place, "", 0, warmup=False, planned_start=None
            )
            one.rows.append(row)
            one.plans.append(plans)
            one.packets.append(packets)
            one.values.append(likeness_values(packets, one.flows(plans), experiment.warmup))
        treatments.append(one)
    values = {one.name: one.values for one in treatments}
    like = TrialSet("planted", {}, {name: {"scheme": name} for name in values}, pl.DataFrame(schema=SCHEMA))
    return RealTrials(
        "planted", emulated_set("planted", like, values), tuple(treatments), experiment.warmup, 1500
    )


def judged(folder: Path, kind: str, number: int) -> dict[str, object]:
    """Return which parameters of a planted path lie in their intervals, and the verdicts on the schemes held out."""
    kept = folder / f"{kind.replace(' ', '-')}-{number}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    options = FitOptions(hold_out=("held out",), budget=BUDGET, seed=number)
    log = kept.with_suffix(".jsonl")
    log.unlink(missing_ok=True)
    certificate = fit_trials(
        real_trials(folder, kind, number), options, log, lambda *_: None, time.process_time
    ).certificate
    found = planted(number)
    truth = {
        "rate": float(found["rate"]) * 1e6,
        "delay": float(found["delay"]) / 1e3,
        "queue": float(found["queue"]),
        "loss": float(found["loss"]) / 100,
    }
    record = {
        "covered": {
            one.name: bool(one.low <= round(truth[one.name], 9) <= one.high) for one in certificate.parameters
        },
        "verdicts": [f"{row.treatment} {row.metric} {row.verdict}" for row in certificate.judged],
        "doubts": list(certificate.doubts),
        "unknown": any(one.source == "assumed" for one in certificate.parameters),
        "search": [certificate.search.identified, certificate.search.chosen, certificate.search.evaluations],
    }
    kept.write_text(json.dumps(record))
    return record


def shares(folder: Path, seeds: int, outside: int) -> Iterator[dict[str, object]]:
    """Yield a row for each kind of path."""
    for kind in (*INSIDE, *OUTSIDE):
        number = seeds if kind == "inside" else outside
        found = []
        for place in range(number):
            found.append(judged(folder, kind, place))
            print(
                kind,
                place,
                found[-1]["covered"],
                [one for one in found[-1]["verdicts"] if "different" in one],
                flush=True,
            )
        covered = {
            name: [one["covered"][name] for one in found if name in one["covered"]]
            for name in ("rate", "delay", "queue", "loss")
        }
        yield {
            "paths": kind,
            "number": number,
            "covered": {name: [sum(each), len(each)] for name, each in covered.items()}
            if kind in INSIDE
            else {},
            "different": sum(any("different" in verdict for verdict in one["verdicts"]) for one in found),
            "of them with a limit that no fitted scheme shows": sum(
                one["unknown"] and any("different" in verdict for verdict in one["verdicts"]) for one in found
            ),
            "doubted": sum(bool(one["doubts"]) for one in found),
        }


def main() -> None:
    folder, numbers = Path(sys.argv[1]).resolve(), sys.argv[2:]
    seeds, outside = [*map(int, numbers), 50, 10][:2] if len(numbers) != 1 else [int(numbers[0]), 10]
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(shares(folder, seeds, outside))
    for row in rows:
        print(json.dumps(row))
    write("calibrating", rows)


if __name__ == "__main__":
    main()
