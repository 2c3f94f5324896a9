"""Trials by a real ns-3: skipped where it is absent (make setup FEATURES=ns3, or TRIALWISE_NS3_PYTHON)."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from tests.system.conftest import Bench
from tests.system.ns3 import needs_ns3

from trialwise import _core
from trialwise.errors import TrialError
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.trials.flow_results import FlowResult
from trialwise.trials.ns3.installation import ns3_installation
from trialwise.trials.ns3.process import Ns3Process, ns3_process
from trialwise.trials.ns3.request import ns3_request, ns3_settings
from trialwise.trials.simulating import Simulated, simulate

pytestmark = needs_ns3

PATIENCE = 300
"""Seconds: ns-3 takes 10 s of processor time to begin, and tests share the machine."""
TRIAL = SimulationTrial(
    "dctcp",
    "dumbbell:2x2,10Gbit/s,1us",
    Workload(flows="flows.csv"),
    network=(("header", "42B"), ("acknowledgement", "42B"), ("pfc", "false")),
    engine="ns3",
)


@pytest.fixture(scope="module", autouse=True)
def _process() -> Iterator[None]:
    """One ns-3 for the tests of this file: beginning it takes longer than all of them."""
    yield
    ns3_process().end()


def drivers() -> list[int]:
    """The processes that serve trials."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and b"trials/ns3/driver.py" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def ours() -> list[int]:
    """Those of them below this process."""
    return [pid for pid in drivers() if os.getpid() in ancestors(pid)]


def ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        try:
            pid = int((Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return
        yield pid


def simulated(folder: Path, flows: str, trial: SimulationTrial = TRIAL) -> Simulated:
    (folder / "flows.csv").write_text(f"flow_id,src,dst,size_bytes,start_ns\n{flows}")
    return simulate(trial, folder, flow_seed=1, seed=1)


def test_a_flow_alone_takes_what_it_takes_in_our_own_engine(tmp_path: Path) -> None:
    lone = "0,0,2,1,0\n1,1,3,1000,100000\n2,0,3,100000,200000\n3,1,2,5000000,1000000\n"
    theirs = simulated(tmp_path, lone)
    mine = simulated(tmp_path, lone, replace(TRIAL, engine="trialwise"))
    assert isinstance(theirs.result, FlowResult)
    assert np.array_equal(theirs.result.ideal_ps, mine.result.ideal_ps)
    assert theirs.result.totals["dropped_buffer"] == 0
    # One packet: no window, no queue, the same bytes on the same wires; acknowledgements differ by 4 bytes.
    assert theirs.fct[:2] == pytest.approx(mine.fct[:2], rel=0.005)
    assert theirs.fct[2:] == pytest.approx(mine.fct[2:], rel=0.05)


LONE = "0,0,1,1,0\n1,0,2,1000,200000\n2,0,15,1000,400000\n3,1,14,100000,600000\n4,7,8,5000000,1000000\n"
"""Within an edge switch, within a pod, and between pods; of the leaf-spine, within a leaf, and between leaves."""


@pytest.mark.parametrize("topology", ["fat-tree:4,10Gbit/s,1us", "leaf-spine:4x2x4,10Gbit/s,1us,40Gbit/s"])
def test_a_flow_alone_takes_as_long_where_there_are_several_ways(tmp_path: Path, topology: str) -> None:
    trial = replace(TRIAL, topology=topology)
    theirs = simulated(tmp_path, LONE, trial)
    mine = simulated(tmp_path, LONE, replace(trial, engine="trialwise"))
    assert theirs.fct[:3] == pytest.approx(mine.fct[:3], rel=0.005)
    assert theirs.fct[3:] == pytest.approx(mine.fct[3:], rel=0.05)


@pytest.mark.parametrize("topology", ["fat-tree:4,10Gbit/s,1us", "leaf-spine:4x2x4,10Gbit/s,1us"])
def test_every_packet_takes_the_route_that_it_takes_in_our_own_engine(topology: str) -> None:
    fabric = _core.Fabric(topology)
    lines = (f"{n},{n % 16},{(5 * n + 3) % 16},{1 + 700 * n},{2000 * n}" for n in range(64))
    flows = _core.parse_flows("flow_id,src,dst,size_bytes,start_ns\n" + "\n".join(lines))
    request = ns3_request(ns3_settings(replace(TRIAL, topology=topology), fabric), fabric, flows, seed=1)
    answer = ns3_process().simulate(request)
    assert answer["resent"] == 0
    data, replies = fabric.flow_routes(flows)
    packets = -(-flows["size_bytes"] // 1000)
    sent = np.zeros(2 * len(fabric.links) + 1, dtype=np.int64)  # the last for -1
    np.add.at(
        sent, data, (2 + packets)[:, None]
    )  # and two packets of the handshake, which has one the other way
    np.add.at(sent, replies, (1 + packets)[:, None])
    assert answer["sent"] == sent[:-1].tolist()


def pair_of_flows(fabric: _core.Fabric, meeting: bool) -> str:
    """Two flows of neighbours to different hosts, of which some link carries both or none; no link carries answers of both."""
    for first, second in permutations(range(4, 16), 2):
        listed = f"0,0,{first},1000000,0\n1,1,{second},1000000,0\n"
        data, replies = fabric.flow_routes(
            _core.parse_flows(f"flow_id,src,dst,size_bytes,start_ns\n{listed}")
        )
        if bool(set(data[0]) & set(data[1])) is meeting and not set(replies[0]) & set(replies[1]):
            return listed
    raise AssertionError("no such pair")


@pytest.mark.parametrize("topology", ["fat-tree:4,10Gbit/s,1us", "leaf-spine:4x2x4,10Gbit/s,1us"])
@pytest.mark.parametrize("engine", ["trialwise", "ns3"])
def test_flows_that_meet_on_a_link_in_one_engine_meet_in_the_other(
    tmp_path: Path, topology: str, engine: str
) -> None:
    fabric, trial = _core.Fabric(topology), replace(TRIAL, topology=topology, engine=engine)
    alone = simulated(tmp_path, pair_of_flows(fabric, meeting=False).splitlines()[0], trial).fct[0]
    apart = simulated(tmp_path, pair_of_flows(fabric, meeting=False), trial).fct
    together = simulated(tmp_path, pair_of_flows(fabric, meeting=True), trial).fct
    assert apart == pytest.approx([alone, alone], rel=0.001)
    assert together == pytest.approx([2 * alone, 2 * alone], rel=0.1)


def test_many_flows_of_one_host_take_time_in_proportion(tmp_path: Path) -> None:
    seconds = []
    for number in (500, 4000):
        flows = "".join(f"{flow},0,2,1000,{200 * flow}\n" for flow in range(number))
        found = simulated(tmp_path, flows).result
        assert isinstance(found, FlowResult)
        assert (found.fct_ps > 0).all()
        seconds.append(found.seconds)
    # Eight times as many; where all connections of a host are looked through for each packet, it is 50 times as long.
    assert seconds[1] < 20 * seconds[0]


def test_trials_do_not_depend_on_those_before(tmp_path: Path) -> None:
    crowd = "".join(f"{number},{number % 2},2,200000,{1000 * number}\n" for number in range(8))
    first = simulated(tmp_path, crowd)
    simulated(tmp_path, "0,0,2,1000,0\n", replace(TRIAL, scheme="cubic", network=(("marking", "false"),)))
    again = simulated(tmp_path, crowd)
    assert first.result.totals["marks"] > 0
    assert first.result.totals == again.result.totals
    assert np.array_equal(first.result.fct_ps, again.result.fct_ps)


def test_drops_marks_windows_and_schemes_are_what_is_asked_for(tmp_path: Path) -> None:
    crowd = "0,0,2,300000,0\n1,1,2,300000,0\n"
    small = (("marking", "false"), ("buffer", "20kB"), ("minimum_timeout", "1ms"))
    times = {}
    for scheme in ("newreno", "cubic", "bbr"):
        found = simulated(tmp_path, crowd, replace(TRIAL, scheme=scheme, network=small))
        assert found.result.totals["marks"] == 0
        assert not np.isnan(found.fct).any()
        times[scheme] = found.fct.tolist()
        if scheme == "newreno":
            assert found.result.totals["dropped_buffer"] > 0
            assert found.result.totals["data_resent"] > 0
    assert len({tuple(each) for each in times.values()}) == 3
    alone = "0,0,2,30000,0\n"
    one = replace(TRIAL, controller=(("initial_window", "1"),))
    assert simulated(tmp_path, alone, one).fct[0] > simulated(tmp_path, alone).fct[0]


def test_a_trial_that_is_stopped_has_flows_that_did_not_finish(tmp_path: Path) -> None:
    found = simulated(
        tmp_path, "0,0,2,1000,0\n1,0,2,5000000,0\n", replace(TRIAL, network=(("stop", "100us"),))
    )
    assert np.isnan(found.fct).tolist() == [False, True]
    assert found.result.end_ps == 100_000_000
    assert isinstance(found.result, FlowResult)
    assert found.result.csv().splitlines()[2] == "1,0,2,5000000,0,"


def test_a_killed_ns3_fails_its_trial_alone_and_none_is_left(tmp_path: Path) -> None:
    simulated(tmp_path, "0,0,2,1000,0\n")
    begun = ours()  # a supervisor, and the driver that it watches
    (victim,) = [pid for pid in begun if set(begun) - {pid} <= set(ancestors(pid))]
    long = "".join(f"{number},{number % 2},2,50000000,0\n" for number in range(20))
    killer = threading.Timer(1.0, os.kill, (victim, signal.SIGKILL))
    killer.start()
    with pytest.raises(TrialError, match="SIGKILL"):
        simulated(tmp_path, long)
    killer.join()
    with pytest.raises(TrialError, match="longer than 2 s"):
        simulated(tmp_path, long, replace(TRIAL, timeout=2.0))
    assert ours() == []


def test_an_abandoned_trial_ends_at_once(tmp_path: Path) -> None:
    before, process, cancel = ours(), Ns3Process(), os.eventfd(1)
    with pytest.raises(InterruptedError):
        process.simulate({}, cancel=cancel)
    os.close(cancel)
    assert ours() == before


EXPERIMENT = """
[experiment]
name = "engines"
[factors]
engine = ["trialwise", "ns3"]
[trial]
kind = "simulation"
engine = "{engine}"
scheme = "dctcp"
topology = "dumbbell:2x2,10Gbit/s,1us"
workload = { sizes = "fixed:20kB", load = "30%", duration = "1ms" }
network = { header = "42B", pfc = false }
[metrics.fct]
measure = "mean"
margin = "20%"
[metrics.drops]
[design]
rounds = 3
"""


def test_one_experiment_has_both_engines_on_the_same_flows(bench: Bench) -> None:
    bench.file.write_text(EXPERIMENT)
    done = bench.command_line("run", bench.file, "-d", bench.directory, "--jobs", "1", timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert f"ns-3 {ns3_installation().version}" in done.stderr
    assert len(bench.rows("finished")) == 6
    environment = next((bench.directory / "environments").iterdir()).read_text()
    assert str(ns3_installation().libraries[0]) in environment
    compared = bench.command_line(
        "compare", bench.directory, "--a", "engine=trialwise", "--b", "engine=ns3", "--json"
    )
    assert '"paired": true' in compared.stdout or "pairs" in compared.stdout, compared.stdout
    deadline = time.monotonic() + PATIENCE
    while any(str(bench.folder) in _directory(pid) for pid in drivers()):
        assert time.monotonic() < deadline, "ns-3 was left behind"
        time.sleep(0.1)


def _directory(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("pfc = false", "faults = '4-5 down 1us'"), "no equal"),
        (('"ns3"]', '"ns2"]'), "trialwise, ns3"),
        (("[metrics.drops]", "[metrics.queue]"), 'engine = "ns3" does not say queue'),
    ],
)
def test_what_ns3_cannot_do_is_said_before_anything_runs(bench: Bench, change, said: str) -> None:
    bench.file.write_text(EXPERIMENT.replace(*change))
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not bench.directory.exists()
