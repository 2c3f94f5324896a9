"""Flow lists through an engine one by one, against the same model by the core's batches."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from trialwise.errors import PlanError, TrialError
from trialwise.experiment.engines import control_names, controls_of, engines_in
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.simulation import SimulationSource
from trialwise.store.kept_lists import NAME, KeptEngines
from trialwise.trials import engine_lists
from trialwise.trials.engine_lists import EngineLists, InMemory, control_value
from trialwise.trials.fluid_lists import FluidLists
from trialwise.trials.list_statistics import ListControls
from trialwise.trials.simulating import filled
from trialwise.trials.simulation import trial_of

TEXT = """
[experiment]
name = "lists"
[trial]
kind = "simulation"
scheme = "hpcc"
topology = "leaf-spine:2x2x2,10Gbit/s,1us"
workload = { sizes = "websearch", load = "30%", duration = "10ms" }
[metrics.p90]
quantity = "fct"
measure = "p90"
[metrics.fct]
[metrics.small]
quantity = "slowdown"
estimand = "per_trial"
sizes = "0B..100kB"
[metrics.worst]
quantity = "fct"
measure = "max"
estimand = "per_trial"
[design]
rounds = 10
"""


@pytest.fixture(autouse=True)
def few_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_lists, "FIRST", 20)


def lists_of(kept, **more) -> tuple[EngineLists, list]:
    experiment = parse_experiment(TEXT, Path("lists.toml"))
    trial = filled(trial_of(experiment), {})
    metrics = list(experiment.metrics)
    made = EngineLists(
        trial,
        "fluid",
        metrics,
        Path(),
        kept,
        "key",
        lambda number: number,
        lambda each: 1000 + each[1],
        **more,
    )
    return made, metrics


def test_controls_are_those_of_the_batch() -> None:
    lists, metrics = lists_of(InMemory())
    seeds = np.arange(20, 80, dtype=np.uint64)
    assert lists.drawn_seeds(60) == seeds.tolist()
    trial = filled(trial_of(parse_experiment(TEXT, Path("lists.toml"))), {})
    for metric in metrics:
        found = lists.drawn(metric, 60)
        level = lists._lists.levels[metrics.index(metric)]
        controls = ListControls.of(metric, trial, level, fluid=True)
        table = FluidLists(trial, Path()).table(seeds, controls.statistics)
        expected = controls.values(table.features, table.found)[:, -1]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        assert isinstance(metric.source, SimulationSource)


def test_rounds_have_the_lists_of_their_trials_and_a_level_that_does_not_know_them() -> None:
    lists, (p90, *_) = lists_of(InMemory())
    own = lists.samples(p90, [(1, 3), (1, 5)])
    found = lists.of_rounds(p90, [(1, 5), (1, 3), (1, 5)])
    level = lists._lists.levels[0]
    assert found.tolist() == [control_value(p90, own[at], level) for at in (1, 0, 1)]
    more, (other, *_) = lists_of(InMemory())
    more.of_rounds(other, [(1, at) for at in range(9)])
    assert more._lists.levels == lists._lists.levels


def test_any_number_of_threads_gives_the_same_bits() -> None:
    columns = [
        lists.drawn(metrics[0], 40) for lists, metrics in (lists_of(InMemory(), threads=n) for n in (1, 5))
    ]
    np.testing.assert_array_equal(*columns)


def test_lists_are_kept_and_extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists, (metric, *_) = lists_of(KeptEngines(tmp_path))
    first, rounds = lists.drawn(metric, 40), lists.of_rounds(metric, [(1, 1)])
    told: list[int] = []
    again, _ = lists_of(KeptEngines(tmp_path), watch=lambda done, _, __: told.append(done))
    np.testing.assert_array_equal(again.drawn(metric, 40), first)
    np.testing.assert_array_equal(again.of_rounds(metric, [(1, 1)]), rounds)
    assert not told
    np.testing.assert_array_equal(again.drawn(metric, 50)[:40], first)
    assert told == [10]
    for text in ("", "{", '{"key": {"levels": 3}}'):
        (tmp_path / NAME).write_text(text)
        np.testing.assert_array_equal(lists_of(KeptEngines(tmp_path))[0].drawn(metric, 40), first)
    # What is of other metrics counts as nothing.
    (tmp_path / NAME).write_text('{"key": {"levels": [1.0], "drawn": [[0.5]]}}')
    np.testing.assert_array_equal(lists_of(KeptEngines(tmp_path))[0].drawn(metric, 40), first)


def test_an_engine_that_cannot_simulate_a_list_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> object:
        raise TrialError("a flow did not finish")

    monkeypatch.setattr(engine_lists, "simulate", broken)
    lists, (metric, *_) = lists_of(InMemory())
    with pytest.raises(PlanError, match="engine fluid: a flow did not finish"):
        lists.drawn(metric, 3)


def test_controls_are_names_of_the_register() -> None:
    assert control_names()[:3] == ("none", "workload", "fluid")
    assert "trialwise" not in control_names()
    assert controls_of("fluid, fluid") == "fluid"
    assert controls_of(["workload", "fluid"]) == "fluid"
    assert (engines_in("none"), engines_in("workload"), engines_in("fluid,x")) == ((), (), ("fluid", "x"))
    for wrong in ("", "ns3", "fluid,none"):
        with pytest.raises(ValueError, match=r"no controls are called|stands alone"):
            controls_of(wrong)


def test_several_engines_are_a_list_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    from trialwise.experiment.engines import ENGINES
    from trialwise.experiment.writing import write_experiment

    monkeypatch.setitem(ENGINES, "second", dataclasses.replace(ENGINES["fluid"]))
    text = TEXT.replace("rounds = 10", 'looks = "geometric"').replace(
        "[metrics.fct]", '[metrics.fct]\nstop = { precision = "5%", controls = ["fluid", "second"] }'
    )
    experiment = parse_experiment(text, Path("lists.toml"))
    stop = experiment.metrics[1].stop
    assert stop is not None
    assert stop.controls == "fluid,second"
    again = parse_experiment(write_experiment(experiment), Path("lists.toml"))
    assert again.metrics[1].stop == stop
