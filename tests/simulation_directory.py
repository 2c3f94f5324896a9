"""A small simulation experiment that has run: two schemes over the same flows, all of it in a second or two."""

from pathlib import Path

from trialwise import study

FILE = """
[experiment]
name = "small"
seed = 3
[factors]
scheme = ["dctcp", "hpcc"]
[trial]
kind = "simulation"
scheme = "{scheme}"
topology = "dumbbell:4x4,10Gbit/s,1us"
workload = { sizes = "fixed:20kB", load = "50%", duration = "1ms" }
[metrics.p90]
quantity = "fct"
measure = "p90"
margin = "5%"
[metrics.mean_fct]
quantity = "fct"
estimand = "per_trial"
[metrics.peak_queue]
[design]
series = 1
rounds = 30
"""


def run_simulation(folder: Path, text: str = FILE) -> Path:
    """Run the experiment of a text and return its directory."""
    source = folder / "experiment.toml"
    source.write_text(text)
    study.run(source, folder / "results")
    return folder / "results"
