"""Controls by the engines that simulate parts, against least squares on flow lists that are simulated here once more."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from simulation_directory import run_simulation, simulation_text
from trialwise import study
from trialwise.analysis.estimation.estimates import ONE_TRIAL
from trialwise.analysis.estimation.level_choice import chosen, lists_that_pay
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.seeds import seed_of
from trialwise.store.kept_lists import KeptEngines
from trialwise.store.kept_means import KeptMeans
from trialwise.trials import drawn_means, engine_lists, workloads
from trialwise.trials.drawn_flows import flow_list
from trialwise.trials.fabrics import open_fabric
from trialwise.trials.simulating import filled, simulate
from trialwise.trials.simulation import trial_of

FIRST, LISTS, ROUNDS, PILOT = 4, 30, 16, 12
TEXT = simulation_text(
    """
[metrics.fct]
quantity = "fct"
estimand = "per_trial"
STOP
[design]
DESIGN
""".replace("DESIGN", f"series = 1\nrounds = {ROUNDS}"),
    workload='sizes = "fixed:20kB", load = "50%", load_of = "host", pattern = "all-to-all", duration = "300us"',
    topology="leaf-spine:2x2x2,10Gbit/s,1us",
    factors='scheme = ["dctcp"]',
)


@pytest.fixture(autouse=True)
def few_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_means, "MAX_LISTS", 3000)
    monkeypatch.setattr(engine_lists, "FIRST", FIRST)
    for module in (engine_lists, workloads):
        monkeypatch.setattr(module, "LISTS", LISTS)
        monkeypatch.setattr(module, "PILOT", PILOT)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_simulation(tmp_path_factory.mktemp("parts"), TEXT.replace("STOP", ""))


def least_squares(y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Coefficients with the intercept first, (X'X)⁻¹, and the residual variance."""
    table = np.column_stack([np.ones(len(y)), x])
    found = np.linalg.lstsq(table, y, rcond=None)[0]
    rest = y - table @ found
    return found, np.linalg.inv(table.T @ table), float(rest @ rest) / (len(y) - table.shape[1])


@pytest.mark.parametrize("engine", ["links", "paths"])
def test_the_estimate_is_that_of_least_squares(directory: Path, engine: str) -> None:
    """Of flows of one size only their number is known besides; the mean by the engine is corrected by it."""
    analysis = study.analyse(directory, controls=engine, levels="fixed").estimation
    assert analysis is not None
    found = analysis.estimates[0].controlled
    assert found is not None
    assert (found.kind, found.features[0], found.generated) == (engine, "flows", LISTS)
    experiment = parse_experiment((directory / "experiment.toml").read_text(), Path("x.toml"))
    trial = dataclasses.replace(filled(trial_of(experiment), {"scheme": "dctcp"}), engine=engine)
    fabric = open_fabric(trial, Path())

    def of_lists(seeds: list[int]) -> np.ndarray:
        """The number of flows and the mean completion time by the engine, of lists with a flow."""
        rows = []
        for seed in seeds:
            result = simulate(trial, Path(), flow_seed=seed, seed=seed).result
            number = len(flow_list(trial.workload, fabric, Path(), seed)["size_bytes"])
            rows.append((number, float(np.mean(result.fct_ps[result.fct_ps >= 0])) / 1e12))
        return np.array(rows)

    places = range(1, ROUNDS + 1)
    x = of_lists([seed_of(3, "flows", 1, place) for place in places])
    files = sorted(directory.glob("samples/*-flows.parquet"))
    y = np.array([pl.read_parquet(file)["fct_ps"].mean() for file in files]) / 1e12
    own = of_lists([seed_of(3, "engine lists", FIRST + place) for place in range(LISTS)])
    ((_, means, lists),) = next(iter(json.loads((directory / "drawn-means.json").read_text()).values()))
    # The mean by the engine: by its lists, at the known number of flows.
    line, inverse, noise = least_squares(own[:, 1], own[:, 0])
    at = np.array([1, means[0]])
    spread = own[:, 0].var(ddof=1) / lists
    across = line[1] * spread
    covariance = np.array([[spread, across], [across, noise * at @ inverse @ at + line[1] * across]])
    fitted, inverse, noise = least_squares(y, x)
    at = np.array([1, means[0], at @ line])
    variance = noise * at @ inverse @ at + fitted[1:] @ covariance @ fitted[1:]
    interval = found.result.controlled
    assert interval.estimate == pytest.approx(at @ fitted, rel=1e-9)
    assert found.result.gain == pytest.approx(y.var(ddof=1) / len(y) / variance, rel=1e-6)
    assert found.result.gain > 1.2, "packets of parts say much of the packets of all"


def test_a_rule_that_stops_uses_both_engines_and_what_it_used_is_shown(tmp_path: Path) -> None:
    stop = 'stop = { precision = "12%", controls = ["fluid", "links"] }'
    text = TEXT.replace("STOP", stop).replace(
        f"series = 1\nrounds = {ROUNDS}", 'looks = "geometric"\nmax_trials = 160'
    )
    directory = run_simulation(tmp_path, text)
    state = study.state(directory).stopping
    assert state is not None
    (claim,) = state.claims
    assert claim.controls == "fluid,links"
    assert claim.state == "decided"
    assert claim.gain > 1
    found = study.analyse(directory).estimation
    assert found is not None
    shown = found.estimates[0].controlled
    assert shown is not None
    assert [each.engine for each in shown.engines] == ["fluid", "links"]
    assert shown.result.n == claim.n[0]
    assert shown.result.plain.estimate == pytest.approx(found.estimates[0].own.estimate)
    assert shown.result.controlled.estimate == pytest.approx(
        (claim.controlled_low + claim.controlled_high) / 2, rel=1e-9
    )


def test_what_a_pilot_chose_stays_when_lists_are_timed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on has timed more lists of the engine than the pilot had; its levels are those of the first half."""
    experiment = parse_experiment(TEXT.replace("STOP", ""), Path("x.toml"))
    (metric,) = experiment.metrics
    seconds = {"trialwise": 1.0, "links": 0.04}
    run = engine_lists.EngineLists._run
    monkeypatch.setattr(
        engine_lists.EngineLists,
        "_run",
        lambda lists, seed: dataclasses.replace(run(lists, seed), seconds=seconds[lists._trial.engine]),
    )
    shares = []
    for _ in range(2):
        known = workloads.KnownWorkloads(experiment, kept_lists=KeptEngines(tmp_path))
        found = chosen(metric, "links", {"scheme": "dctcp"}, known, 200)
        assert found is not None
        assert found.controls == "links"
        shares.append(found)
        seconds["links"] = 5.0  # the machine has become busy
        known.of_rounds(metric, "links", {"scheme": "dctcp"}, [(1, place) for place in range(1, 60)])
    assert shares[0] == shares[1]


def test_one_trial_is_refused_with_what_lifts_it(tmp_path: Path) -> None:
    one = run_simulation(tmp_path, TEXT.replace("STOP", "").replace(f"rounds = {ROUNDS}", "rounds = 1"))
    found = study.analyse(one).estimation
    assert found is not None
    own, other = found.estimates[0].own, found.estimates[0].other
    assert (own.low, own.note) == (None, ONE_TRIAL)
    assert other is not None
    assert other.low is None
    assert "slices of its time give none" in other.note
    assert all("two trials or more lift that" in note for note in (own.note, other.note))


def test_lists_that_pay_are_those_of_the_least_time() -> None:
    """Against a search over all allocations of trials and lists, in proportion to those that there are."""
    now, rest, lists, trials, trial, one = 5e-3, 2e-3, 50, 240, 0.3, 0.08
    found = lists_that_pay((now, rest), (trials, lists), (trial, one))
    numbers = np.arange(1, 5000)
    times = (rest + (now - rest) * lists / numbers) * (trials * trial + numbers * one)
    assert found == pytest.approx(numbers[np.argmin(times)], abs=1)
    assert lists_that_pay((now, rest), (trials, lists), (1e6, one)) == 400
    assert lists_that_pay((rest, rest), (trials, lists), (trial, one)) == 0


def test_as_many_lists_as_pay_and_the_same_ones_again(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "again"
    shutil.copytree(directory, place)
    for kept in ("engine-lists.json", "drawn-means.json"):
        (place / kept).unlink(missing_ok=True)
    for module in (engine_lists, workloads):
        monkeypatch.setattr(module, "LEAST", 12)
    seconds = iter([1e-6] * 200 + [1.0] * 10_000)
    run = engine_lists.EngineLists._run
    monkeypatch.setattr(
        engine_lists.EngineLists,
        "_run",
        lambda lists, seed: dataclasses.replace(run(lists, seed), seconds=next(seconds)),
    )

    def controlled():
        analysis = study.analyse(place, controls="links").estimation
        assert analysis is not None
        found = analysis.estimates[0].controlled
        assert found is not None
        return found

    first = controlled()
    assert 12 < first.generated <= 400
    assert controlled().result.controlled == first.result.controlled, "though lists have become dear"


def test_lists_of_the_fluid_model_are_a_thousand_a_trial_at_most_and_within_the_time(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawn_means, "MAX_LISTS", 64_000)
    experiment = parse_experiment(TEXT.replace("STOP", ""), Path("x.toml"))
    (metric,), factors = experiment.metrics, {"scheme": "dctcp"}

    def lists(trials: int | None, kept: KeptMeans | None = None, seconds: float | None = None) -> int:
        known = workloads.KnownWorkloads(experiment, kept, seconds=seconds)
        found = known.known_means(metric, "fluid", factors, trials=trials)
        assert found is not None
        return found.lists

    few, many = lists(3), lists(None)
    assert 3000 * 0.9 < few <= 4000
    assert 64_000 * 0.9 < many <= 64_000
    kept = KeptMeans(tmp_path)
    assert lists(3, kept) == few
    assert lists(30, kept) > 30_000 * 0.9
    assert lists(3, kept) > 30_000 * 0.9, "those that there are"
    assert lists(None, seconds=0.001) < few


def test_lists_by_engines_are_not_those_of_trials() -> None:
    seeds = {seed_of(3, "engine lists", place) for place in range(2000)}
    assert len(seeds) == 2000
    assert not seeds & {seed_of(3, "flows", 1, place) for place in range(2000)}
