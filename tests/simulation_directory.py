"""Experiment files of simulations, and a small one that has run: two schemes over the same flows, in a second or two."""

from pathlib import Path

from trialwise import study


def simulation_text(
    rest: str,
    *,
    workload: str,
    topology: str = "dumbbell:4x4,10Gbit/s,1us",
    factors: str = 'scheme = ["dctcp", "hpcc"]',
    scheme: str = "{scheme}",
) -> str:
    """The text of an experiment file; `rest` are its metrics and what comes after them."""
    return f"""
[experiment]
name = "small"
seed = 3
[factors]
{factors}
[trial]
kind = "simulation"
scheme = "{scheme}"
topology = "{topology}"
workload = {{ {workload} }}
{rest}"""


FILE = simulation_text(
    """
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
""",
    workload='sizes = "fixed:20kB", load = "50%", duration = "1ms"',
)


def run_simulation(folder: Path, text: str = FILE) -> Path:
    """Run the experiment of a text and return its directory."""
    source = folder / "experiment.toml"
    source.write_text(text)
    study.run(source, folder / "results")
    return folder / "results"
