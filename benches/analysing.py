"""What analysing costs beside simulating: `analyze` and `status` of an experiment, and the flow lists of the fluid surrogate.

Run with `.venv/bin/python benches/analysing.py`; the result is kept in `benches/results/analysing.json`. Trials are CCEval's, on
the dumbbell: 20 ms of WebSearch at 30 %, four treatments with seven metrics. Some of them run, and stand over and over for those
of a larger experiment, whose directory holds as many trials and samples as that. Wanted: 1 % of the time that all of them would
take; twice that fails. No claim comes to its end, so that `status` looks at all of them again and again: its worst case. The
means of the fluid model's lists are drawn once for an experiment: the first time stands apart.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from measuring import write
from repeating import repeated
from trialwise import study
from trialwise.experiment.simulation import SimulationSource
from trialwise.trials.fluid_lists import FluidLists
from trialwise.trials.list_statistics import statistic_of
from trialwise.trials.simulating import filled, simulate

WANTED_SHARE, LIMIT_SHARE = 0.01, 0.02
ROUNDS, RAN, LISTS = 7200, 40, 20_000
FILE = Path(__file__).parent.parent / "examples/cceval-dumbbell/experiment.toml"
COMMANDS = {
    "status": ["status"],
    "analyze": ["analyze"],
    "analyze --controls fluid": ["analyze", "--controls", "fluid"],
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        text = FILE.read_text().replace("max_trials = 60000", f"max_trials = {ROUNDS}")
        source = place / "experiment.toml"
        source.write_text(text.replace('"1%"', '"0.5%"').replace('"5%"', '"4%"'))
        rows = analysing(source, place / "results")
        rows.append(drawing_lists(source))
    write("analysing", rows)
    shares = {row["what"]: row["share"] for row in rows if "share" in row}
    assert all(share < LIMIT_SHARE for share in shares.values()), shares


def analysing(source: Path, directory: Path) -> list[dict[str, object]]:
    simulating = simulating_seconds(source)
    repeated(source, directory, RAN, ROUNDS)
    trials = 4 * ROUNDS
    rows: list[dict[str, object]] = []
    for name, words in COMMANDS.items():
        first = seconds(words, directory)[0] if "analyze" in words else None
        taken, memory = seconds(words, directory)
        share = taken / (trials * simulating)
        rows.append(
            {
                "what": name,
                "trials": trials,
                "seconds": taken,
                "seconds_the_first_time": first,
                "megabytes": memory,
                "simulating_seconds_per_trial": simulating,
                "share": share,
                "wanted_share": WANTED_SHARE,
                "limit_share": LIMIT_SHARE,
            }
        )
    return rows


def simulating_seconds(source: Path) -> float:
    """CPU seconds of a trial."""
    experiment = study.load(source)
    begun = time.process_time()
    for number in range(20):
        scheme = ("dctcp", "dcqcn", "timely", "hpcc")[number % 4]
        trial = filled(experiment.trial, {"directory": ".", "scheme": scheme})
        simulate(trial, Path(), flow_seed=number, seed=number)
    return (time.process_time() - begun) / 20


def seconds(words: list[str], directory: Path) -> tuple[float, float]:
    """CPU seconds of a command, start and imports included, and the memory that any command took at most so far, in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(Path(sys.executable).with_name("trialwise")), words[0], str(directory), *words[1:]]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 1e3


def drawing_lists(source: Path) -> dict[str, object]:
    """How many flow lists of a trial the fluid surrogate takes in a second of one core, beside simulating them."""
    experiment = study.load(source)
    trial = filled(experiment.trial, {"directory": ".", "scheme": "dctcp"})
    lists = FluidLists(trial, Path(), threads=1)
    wanted = [statistic_of(SimulationSource("fct", phase="all"), trial, "sum")]
    begun = time.process_time()
    lists.table(np.arange(LISTS, dtype=np.uint64), wanted)
    each = (time.process_time() - begun) / LISTS
    begun = time.process_time()
    for number in range(20):
        simulate(trial, Path(), flow_seed=number, seed=number)
    simulated = (time.process_time() - begun) / 20
    return {
        "what": "flow lists of the fluid surrogate",
        "lists": LISTS,
        "lists_per_second": 1 / each,
        "simulated_lists_per_second": 1 / simulated,
        "ratio": simulated / each,
    }


if __name__ == "__main__":
    main()
