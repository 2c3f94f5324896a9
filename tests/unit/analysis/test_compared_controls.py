"""Controls in comparisons: differences of treatments that met the same flows, against least squares on their difference."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from in_process import trialwise
from simulation_directory import run_simulation, simulation_text
from trialwise import study
from trialwise.analysis.comparison.comparing import compare
from trialwise.analysis.comparison.sides import selected
from trialwise.analysis.estimation import controlled_sides
from trialwise.analysis.estimation.controlled_sides import Wanted, with_controls
from trialwise.errors import AnalysisError
from trialwise.experiment.reading import parse_experiment
from trialwise.study.reading import ComparedControls
from trialwise.trials import drawn_means, engine_lists, workloads

ROUNDS = 40
TEXT = simulation_text(
    f"""
[metrics.fct]
quantity = "fct"
estimand = "per_trial"
[metrics.p75]
quantity = "fct"
measure = "p75"
[design]
series = 1
rounds = {ROUNDS}
""",
    workload='sizes = "fixed:40kB", load = "60%", duration = "1ms"',
    factors='scheme = ["dctcp", "timely"]',
)
SIDES = {"scheme": ["dctcp"]}, {"scheme": ["timely"]}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_means, "MAX_LISTS", 3000)
    monkeypatch.setattr(controlled_sides, "FEWEST", ROUNDS)
    monkeypatch.setattr(controlled_sides, "FEWEST_BEYOND", 5)
    monkeypatch.setattr(engine_lists, "FIRST", 6)
    for module in (engine_lists, workloads):
        monkeypatch.setattr(module, "LISTS", 60)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_simulation(tmp_path_factory.mktemp("sides"), TEXT)


def rows_of(directory: Path, kind: str | None):
    trials = study.comparison_set(directory, controls=kind and ComparedControls(kind))  # pyright: ignore[reportArgumentType]
    found = compare(*(selected(trials, side) for side in SIDES))
    return {row.metric.name: row for row in found.rows}, trials.notes


def test_the_difference_is_that_of_least_squares(directory: Path) -> None:
    """Of flows of one size only their number is known: one control, the same on both sides."""
    rows, notes = rows_of(directory, "workload")
    plain, _ = rows_of(directory, None)
    _, _, ledger = study.open_directory(directory)
    times: dict[str, list[float]] = {}
    flows: list[int] = []
    for row in sorted(ledger.trials(), key=lambda row: row.round):
        frame = pl.read_parquet(directory / f"samples/{row.number:06d}-{row.attempt}-flows.parquet")
        times.setdefault(str(row.factors["scheme"]), []).append(
            float(frame["fct_ps"].to_numpy().mean()) / 1e12
        )
        if row.factors["scheme"] == "dctcp":
            flows.append(frame.height)
    ledger.close()
    kept = json.loads((directory / "drawn-means.json").read_text())
    mean = next(entries[0][1][0] for entries in kept.values())
    fitted = np.linalg.lstsq(
        np.column_stack([np.ones(ROUNDS), np.array(flows) - mean]),
        np.subtract(times["timely"], times["dctcp"]),
        rcond=None,
    )[0]
    shown = rows["fct"].difference
    assert shown is not None
    assert shown.paired
    assert shown.welch.estimate == pytest.approx(fitted[0])
    assert plain["fct"].difference is not None
    assert shown.welch.se < plain["fct"].difference.welch.se
    (note,) = (
        note for note in notes if note.startswith("fct: differences by regression on 1 control (workload;")
    )
    assert f"{ROUNDS} shared trials" in note


def test_engines_know_of_what_treatments_differ_in(directory: Path) -> None:
    """Links simulate packets of both controllers: the difference has a control of each, from the same lists."""
    rows, notes = rows_of(directory, "links")
    fewer, _ = rows_of(directory, "workload")
    for name, row in rows.items():
        assert row.difference is not None
        known = fewer[name].difference
        assert known is not None
        assert row.difference.welch.se < known.welch.se, notes
        assert row.difference.welch.low < known.welch.estimate < row.difference.welch.high


def test_refusals_say_what_lifts_them(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controlled_sides, "FEWEST", 200)
    rows, notes = rows_of(directory, "fluid")
    plain, _ = rows_of(directory, None)
    assert rows["fct"].difference == plain["fct"].difference
    assert "fct: no controls: they take 200 shared trials and there are 40; more rounds lift that" in notes
    monkeypatch.setattr(controlled_sides, "FEWEST", ROUNDS)
    monkeypatch.setattr(controlled_sides, "FEWEST_BEYOND", 1000)
    _, notes = rows_of(directory, "fluid")
    assert any("times the trials lift that" in note for note in notes if note.startswith("p75: no controls"))
    for more in ((), ("--unpaired", "--a", "scheme=dctcp", "--b", "scheme=timely")):
        words = ["compare", str(directory), *(more or [str(tmp_path)]), "--controls", "fluid"]
        done = trialwise(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert "are for treatments of one directory that met the same flows" in done.stderr
    text = TEXT.replace("[trial]", 'load = ["30%", "50%"]\n[trial]').replace('"60%"', '"{load}"')
    other = run_simulation(
        tmp_path, text.replace('["dctcp", "timely"]', '["dctcp"]').replace(f"= {ROUNDS}", "= 2")
    )
    (note,) = (
        note
        for note in study.comparison_set(other, controls=ComparedControls("fluid")).notes
        if "no controls" in note
    )
    assert "no two treatments met the same flows" in note
    sobol = TEXT.replace('duration = "1ms"', 'duration = "1ms", sampling = "sobol"')
    blocks = parse_experiment(sobol.replace(f"= {ROUNDS}", "= 512"), tmp_path / "x.toml")
    trials = study.comparison_set(directory)
    with pytest.raises(AnalysisError, match="these are Sobol samples"):
        with_controls(trials, blocks, None, {}, Wanted("fluid", None))  # pyright: ignore[reportArgumentType]


def test_a_metric_that_stopped_by_controls_says_that_differences_are_without(tmp_path: Path) -> None:
    stop = 'estimand = "per_trial"\nstop = { precision = "50%", controls = "fluid" }'
    text = TEXT.replace('estimand = "per_trial"', stop).replace(
        f"series = 1\nrounds = {ROUNDS}", "max_trials = 40"
    )
    directory = run_simulation(tmp_path, text)
    (note,) = (
        note for note in study.comparison_set(directory).notes if "differences here are without" in note
    )
    assert "trialwise compare --controls fluid uses them" in note
