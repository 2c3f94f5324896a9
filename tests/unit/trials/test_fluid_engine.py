"""The fluid engine: closed forms, the surrogate's own numbers, the label on what it says, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trialwise import _core, study
from trialwise.cli.simulate import simulate as command
from trialwise.errors import TrialwiseError
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.trials.simulating import simulate
from trialwise.trials.simulation import SimulationKind

WIRE = 1000 * 1048 * 80
"""Picoseconds of 1 MB with its headers at 100 Gbit/s."""
WAY = 6_240_000
"""Round trip over three links of 1 us, and a packet of 1000 bytes on each."""


def completion(folder: Path, flows: str, topology: str, rate_interval: float = 0.0) -> list[int]:
    """Completion times in picoseconds of lines `src,dst,bytes,start_ns`."""
    rows = [f"{place},{line}" for place, line in enumerate(flows.split())]
    (folder / "flows.csv").write_text("\n".join(["flow_id,src,dst,size_bytes,start_ns", *rows, ""]))
    trial = SimulationTrial(
        scheme="dctcp",
        topology=topology,
        workload=Workload(flows="flows.csv"),
        engine="fluid",
        rate_interval=rate_interval,
    )
    return simulate(trial, folder, flow_seed=0, seed=0).result.fct_ps.tolist()


@pytest.mark.parametrize("interval", [0.0, 1e-5])
def test_closed_forms(tmp_path: Path, interval: float) -> None:
    dumbbell, slow = "dumbbell:4x4,100Gbit/s,1us", "dumbbell:2x2,10Gbit/s,1us,100Gbit/s"
    assert completion(tmp_path, "0,4,1000000,500", dumbbell, interval) == [WIRE + WAY]
    # Alone, and with n - 1 others that begin with it: n times as long on the link.
    together = "0,4,1000000,0 1,5,1000000,0 2,6,1000000,0 3,7,1000000,0"
    assert completion(tmp_path, together, dumbbell, interval) == [4 * WIRE + WAY] * 4
    # Parking lot of two links: 0 to 2 crosses both, 0 to 3 the first, 1 to 2 the second. Each has a half at first.
    if not interval:
        first, short, other = completion(tmp_path, "0,2,1000000,0 0,3,100000,0 1,2,2000000,0", slow)
        bit = 10 * WIRE / 1e6  # of a byte of payload at 10 Gbit/s
        way = completion(tmp_path, "0,2,1000,0", slow)[0] - 1000 * bit
        expected = [2e6 * bit + way, 2e5 * bit + way, 3e6 * bit + way]
        np.testing.assert_allclose([first, short, other], expected, atol=2)


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
scheme = "{scheme}"
topology = "leaf-spine:2x2x{{hosts}},100Gbit/s,1us"
workload = {workload}
{trial}
[metrics.fct]
measure = "p90"
{metrics}
[design]
series = 1
rounds = 3
"""
DRAWN = '{ sizes = "websearch", load = "30%", duration = "1ms" }'


def text(**changes: str) -> str:
    """The text of an experiment."""
    usual = {
        "factors": "",
        "engine": "fluid",
        "scheme": "dctcp",
        "workload": DRAWN,
        "trial": "",
        "metrics": "",
    }
    return FILE.format(**usual | changes)


def test_an_experiment_runs_and_everything_says_that_it_is_an_estimate(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(text(factors='engine = ["trialwise", "fluid"]', engine="{engine}"))
    study.run(file, tmp_path / "results")
    analysis = study.analyse(tmp_path / "results")
    said = 'trials with engine = "fluid": numbers are estimates'
    assert any(note.startswith(said) for note in analysis.notes)
    packed = [pl.read_parquet(path) for path in sorted((tmp_path / "results" / "samples").glob("*flows*"))]
    # The same flows in both, and the times are those of the surrogate, to the bit.
    fabric = _core.Fabric("leaf-spine:2x2x4,100Gbit/s,1us")
    by_list: dict[bytes, list[np.ndarray]] = {}
    for frame in packed:
        flows = {
            name: frame[name].to_numpy().copy()
            for name in ("flow_id", "src", "dst", "size_bytes", "start_ps")
        }
        by_list.setdefault(flows["start_ps"].tobytes(), []).append(frame["fct_ps"].to_numpy())
        np.testing.assert_array_equal(frame["ideal_ps"], fabric.ideal_times(flows))
        by_list[flows["start_ps"].tobytes()].append(_core.fluid(fabric, flows))
    assert len(by_list) == 3
    for first, _, second, own in by_list.values():
        assert np.array_equal(first, own) != np.array_equal(second, own)


def refusal(folder: Path, content: str) -> str:
    """What the check of an experiment says."""
    with pytest.raises(TrialwiseError) as caught:
        check(folder, content)
    return caught.value.message


def check(folder: Path, content: str) -> None:
    """Check the treatments of an experiment whose last factor has the levels."""
    experiment = parse_experiment(content, folder)
    *_, factor = experiment.fixed_factors
    SimulationKind().check(experiment, [{"hosts": 4, factor.name: level} for level in factor.levels])


@pytest.mark.parametrize(
    "quantity", ["queue", "peak_queue", "peak_buffer", "pauses", "drops", "marks", "resent"]
)
def test_it_refuses_quantities_of_packets(tmp_path: Path, quantity: str) -> None:
    found = refusal(tmp_path, text(metrics=f"[metrics.{quantity}]"))
    assert f'engine = "fluid" does not say {quantity}' in found


def test_it_refuses_what_it_cannot_say(tmp_path: Path) -> None:
    apart = "does not tell dctcp and hpcc apart"
    assert apart in refusal(tmp_path, text(factors='scheme = ["dctcp", "hpcc"]', scheme="{scheme}"))
    queues = text(factors='kmin = ["20kB", "40kB"]', trial='network = { kmin = "{kmin}" }')
    assert "parameters of the controller or of queues apart" in refusal(tmp_path, queues)
    assert "network.loss" in refusal(tmp_path, text(trial='network = { loss = "1%" }'))
    assert "network.stop" in refusal(tmp_path, text(trial='network = { stop = "1ms" }'))
    assert 'mode = "compatible"' in refusal(tmp_path, text(trial='mode = "compatible"'))
    job = '{ job = "ring-all-reduce:8MB" }'
    assert 'engine = "fluid" is given the starts' in refusal(tmp_path, text(workload=job))
    packets = text(engine="trialwise", trial='rate_interval = "10us"')
    assert "rate_interval" in refusal(tmp_path, packets)
    # What changes the model's own numbers may be a factor.
    check(tmp_path, text(factors='segment = ["1kB", "4kB"]', trial='network = { segment = "{segment}" }'))


def test_the_command_labels_its_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(
        topology="leaf-spine:2x2x4,100Gbit/s,1us",
        cc="dctcp",
        load="30%",
        sizes="websearch",
        duration="1ms",
        engine="fluid",
        rate_interval="5us",
        json=True,
    )
    found = json.loads(capsys.readouterr().out)
    assert found["engine"] == "fluid"
    assert found["totals"] == {}
    assert "numbers are estimates by a fluid model" in found["cautions"][-1]
