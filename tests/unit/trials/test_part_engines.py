"""The engines that simulate parts of the network: where they are the packets, what they say of themselves, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trialwise import study
from trialwise.cli.simulate import simulate as command
from trialwise.errors import TrialwiseError
from trialwise.experiment.engines import ENGINES
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.trials.simulating import simulate
from trialwise.trials.simulation import SimulationKind

PARTS = [name for name, engine in ENGINES.items() if engine.parts]
DRAWN = '{ sizes = "facebook_hadoop", load = "30%", duration = "100us" }'
FILE = """
[experiment]
name = "engines"
seed = 3
[factors]
hosts = [4]
{factors}
[trial]
kind = "simulation"
engine = "{engine}"
scheme = "dcqcn"
topology = "leaf-spine:2x4x{{hosts}},100Gbit/s,1us"
workload = {workload}
{trial}
[metrics.fct]
measure = "p90"
{metrics}
[design]
series = 1
rounds = 3
"""


def text(**changes: str) -> str:
    """The text of an experiment."""
    usual = {"factors": "", "engine": "{engine}", "workload": DRAWN, "trial": "", "metrics": ""}
    return FILE.format(**usual | changes)


def test_parts_are_registered() -> None:
    assert PARTS == ["paths", "links"]


@pytest.mark.parametrize("engine", PARTS)
def test_one_shared_link_gives_the_times_of_packets(tmp_path: Path, engine: str) -> None:
    rows = [f"{place},{place},{place + 4},{20_000 + 3_333 * place},{100 * place}" for place in range(4)]
    (tmp_path / "flows.csv").write_text("\n".join(["flow_id,src,dst,size_bytes,start_ns", *rows, ""]))
    packets = SimulationTrial(
        scheme="hpcc", topology="dumbbell:4x4,100Gbit/s,1us", workload=Workload(flows="flows.csv")
    )
    whole, parts = (
        simulate(dataclasses.replace(packets, engine=name), tmp_path, flow_seed=0, seed=0)
        for name in ("trialwise", engine)
    )
    np.testing.assert_array_equal(parts.result.fct_ps, whole.result.fct_ps)
    np.testing.assert_array_equal(parts.result.ideal_ps, whole.result.ideal_ps)


def test_an_experiment_runs_and_everything_says_that_it_is_an_estimate(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    levels = ", ".join(f'"{name}"' for name in ("trialwise", *PARTS))
    file.write_text(text(factors=f"engine = [{levels}]"))
    study.run(file, tmp_path / "results")
    analysis = study.analyse(tmp_path / "results")
    for name in PARTS:
        said = f'trials with engine = "{name}": numbers are estimates by packets of'
        assert any(note.startswith(said) for note in analysis.notes)
    remarks = [note for note in analysis.notes if "an estimate by engine" in note]
    assert len(remarks) == len(PARTS), "trials of one engine say the same, however many parts they had"
    packed = [pl.read_parquet(path) for path in sorted((tmp_path / "results" / "samples").glob("*flows*"))]
    assert len(packed) == 9
    # Every trial of a round has the same flows.
    assert len({tuple(frame["size_bytes"]) for frame in packed}) == 3


def test_a_sample_of_paths_is_of_its_share_of_the_flows(tmp_path: Path) -> None:
    trial = SimulationTrial(
        scheme="dctcp",
        topology="leaf-spine:4x8x8,100Gbit/s,1us",
        workload=Workload(sizes="google_rpc", load="10%", duration="20us"),
        engine="paths",
        sampled_paths=20,
    )
    found = simulate(trial, tmp_path, flow_seed=5, seed=7)
    assert found.listed is not None
    assert 15 <= len(found.fct) <= 40 < len(found.listed["start_ps"])
    assert not np.isnan(found.fct).any()
    again = simulate(trial, tmp_path, flow_seed=5, seed=7)
    np.testing.assert_array_equal(found.result.fct_ps, again.result.fct_ps)
    other = simulate(trial, tmp_path, flow_seed=5, seed=8)
    assert other.flows["flow_id"].tolist() != found.flows["flow_id"].tolist()


class _EnoughError(Exception):
    """Nobody wants the rest."""


@pytest.mark.parametrize("engine", PARTS)
def test_whoever_looks_can_end_it(tmp_path: Path, engine: str) -> None:
    def look(*_: int) -> None:
        raise _EnoughError

    trial = SimulationTrial(
        scheme="dctcp",
        topology="leaf-spine:4x8x8,100Gbit/s,1us",
        workload=Workload(sizes="websearch", load="30%", duration="20ms"),
        engine=engine,
    )
    with pytest.raises(_EnoughError):
        simulate(trial, tmp_path, flow_seed=5, seed=7, progress=look)


def refusal(folder: Path, content: str, engine: str) -> str:
    """What the check of an experiment says."""
    with pytest.raises(TrialwiseError) as caught:
        check(folder, content.replace("{engine}", engine))
    return caught.value.message


def check(folder: Path, content: str) -> None:
    """Check the treatments of an experiment."""
    SimulationKind().check(parse_experiment(content, folder), [{"hosts": 4}])


@pytest.mark.parametrize("engine", PARTS)
def test_it_refuses_what_it_cannot_say(tmp_path: Path, engine: str) -> None:
    for quantity in ("queue", "pauses", "marks"):
        said = f'engine = "{engine}" does not say {quantity}'
        assert said in refusal(tmp_path, text(metrics=f"[metrics.{quantity}]"), engine)
    assert "network.stop" in refusal(tmp_path, text(trial='network = { stop = "1ms" }'), engine)
    faults = 'network = { faults = "1us 8 down" }'
    assert "network.faults" in refusal(tmp_path, text(trial=faults), engine)
    job = '{ job = "ring-all-reduce:8MB" }'
    assert f'engine = "{engine}" is given the starts' in refusal(tmp_path, text(workload=job), engine)
    assert "rate_interval" in refusal(tmp_path, text(trial='rate_interval = "10us"'), engine)


def test_what_one_of_them_cannot_say(tmp_path: Path) -> None:
    assert "network.loss" in refusal(tmp_path, text(trial='network = { loss = "1%" }'), "links")
    assert "does not say bytes" in refusal(tmp_path, text(metrics="[metrics.bytes]"), "paths")
    assert "link_distance" in refusal(tmp_path, text(trial="link_distance = 0.1"), "paths")
    assert "sampled_paths" in refusal(tmp_path, text(trial="sampled_paths = 10"), "links")


@pytest.mark.parametrize(
    ("engine", "options"), [("paths", {"sampled_paths": 10}), ("links", {"link_distance": 0.2})]
)
def test_the_command_labels_its_document(
    capsys: pytest.CaptureFixture[str], engine: str, options: dict[str, float]
) -> None:
    shape = {
        "topology": "leaf-spine:2x4x4,100Gbit/s,1us",
        "cc": "dctcp",
        "load": "30%",
        "sizes": "facebook_hadoop",
    }
    command(**shape, duration="100us", engine=engine, **options, json=True)  # pyright: ignore[reportArgumentType]
    found = json.loads(capsys.readouterr().out)
    assert found["engine"] == engine
    assert set(found["totals"]) == {"parts", "networks", "hops"}
    assert "numbers are estimates by packets of" in found["cautions"][-1]
    command(**shape, duration="100us", engine=engine, **options)  # pyright: ignore[reportArgumentType]
    assert f" of {found['totals']['parts']} {engine}, " in capsys.readouterr().out.replace("\n", " ")
