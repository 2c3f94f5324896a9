from pathlib import Path

import pytest

from trialwise.experiment.reading import parse_experiment

BASE = """
[experiment]
name = "x"
seed = {seed}
[factors]
{factors}
[trial]
command = "true {used}"
{trial}
[metrics.m]
resource = "wall"
{metric}
[design]
{design}
"""


@pytest.fixture
def make():
    """Builds an experiment from a few lines of its file."""

    def build(*, seed=0, factors="a = [1, 2, 3]", trial="", metric="", design="", more=""):
        used = " ".join(f"{{{line.split('=')[0].strip()}}}" for line in factors.splitlines() if "=" in line)
        text = BASE.format(seed=seed, factors=factors, used=used, trial=trial, metric=metric, design=design)
        return parse_experiment(text + more, Path("/nowhere/experiment.toml"))

    return build
