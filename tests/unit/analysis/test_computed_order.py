"""What is said of simulated trials does not depend on when each of them was computed."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from simulation_directory import FILE, run_simulation
from trialwise import study
from trialwise.analysis.effects.analysing import EffectsOptions, analyse_effects
from trialwise.analysis.effects.trials import factor_trials

PATH = """
[experiment]
name = "path"
[trial]
kind = "path"
engine = "simulated"
scheme = "udp-cubic"
runtime = "200ms"
path = { rate = "poisson:rate=5Mbit/s", delay = "5ms", queue = "droptail:packets=20" }
[metrics.throughput]
kpi = { percentile = 50, confidence = 95 }
[design]
series = 1
rounds = 12
"""


@pytest.fixture(scope="module", params=[FILE, PATH], ids=["simulation", "path"])
def directories(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """An experiment that has run, and the same one with its trials computed the other way round."""
    folder = tmp_path_factory.mktemp("computed")
    directory = run_simulation(folder, request.param)
    turned = Path(shutil.copytree(directory, folder / "turned"))
    with closing(sqlite3.connect(turned / "ledger.sqlite")) as ledger, ledger:
        ledger.execute(
            "UPDATE trial SET started = 2e9 - started, finished = 2e9 - started WHERE started IS NOT NULL"
        )
    return directory, turned


def series(directory: Path) -> Iterator[tuple[object, ...]]:
    for metric in study.analyse(directory).metrics:
        for one in metric.independence:
            assert one.result is not None
            yield metric.metric.name, one.treatment, one.result.autocorrelation.tolist(), one.result.p_value


def test_independence_is_of_the_order_of_the_plan(directories: tuple[Path, Path]) -> None:
    first, turned = map(list, map(series, directories))
    assert first == turned


def assumptions(directory: Path) -> list[object]:
    trials = factor_trials(study.effects_input(directory).trials)
    return [result.assumptions for result in analyse_effects(trials, EffectsOptions()).results]


@pytest.mark.parametrize("directories", [FILE], indirect=True)
def test_turning_points_of_effects_are_too(directories: tuple[Path, Path]) -> None:
    first, turned = map(assumptions, directories)
    assert first == turned
