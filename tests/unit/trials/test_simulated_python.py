"""Congestion control in Python in a simulated data centre."""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.trials.base import Task
from trialwise.trials.simulating import Simulated, simulate
from trialwise.trials.simulation import SimulationKind

NEWRENO = Path(__file__).parents[3] / "docs" / "how-to" / "newreno.py"
DUMBBELL = "dumbbell:4x4,10Gbit/s,1us"
DRAWN = Workload(sizes="facebook_hadoop", load="60%", duration="10ms")
WORKLOAD = {
    "sizes": "websearch",
    "arrivals": "poisson",
    "pattern": "one-way",
    "load": 0.6,
    "load_of": "bottleneck",
    "duration_ps": 10**11,
}
EXPERIMENT = """
[experiment]
name = "own"

[trial]
kind = "simulation"
scheme = "{scheme}"
topology = "dumbbell:4x4,10Gbit/s,1us"
workload = {{ sizes = "facebook_hadoop", load = "60%", duration = "10ms" }}

[metrics.slowdown]
measure = "p50"
"""
WRONG = """
class Raises:
    window = 10_000
    def __init__(self, context): pass
    def on_acknowledgement(self, event): raise ValueError("my own mistake")
    def on_loss(self, event): pass
    def on_timeout(self, event): pass

class Unmade(Raises):
    def __init__(self, context): raise LookupError("nothing there")

class Loud(Raises):
    feedback = "shouts"
"""


def trial(scheme: str, **changes: object) -> SimulationTrial:
    return replace(SimulationTrial(scheme, DUMBBELL, DRAWN), **changes)


def run(made: SimulationTrial, folder: Path) -> Simulated:
    return simulate(made, folder, flow_seed=3, seed=5)


@pytest.mark.parametrize("network", [(), (("loss", "0.1%"),), (("pfc", "false"), ("buffer", "40kB"))])
def test_newreno_in_python_gives_what_the_one_in_rust_gives_flow_by_flow(
    tmp_path: Path, network: tuple[tuple[str, str], ...]
) -> None:
    shutil.copy(NEWRENO, tmp_path)
    ours = run(trial("python:newreno:NewReno", network=network), tmp_path).result
    theirs = run(trial("newreno", network=network), tmp_path).result
    assert len(ours.fct_ps) > 10
    np.testing.assert_array_equal(ours.fct_ps, theirs.fct_ps)
    assert ours.totals == theirs.totals


def test_what_the_class_raises_ends_the_trial_with_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    with pytest.raises(ValueError, match="my own mistake") as raised:
        run(trial("python:wrong:Raises"), tmp_path)
    assert raised.traceback[-1].path == tmp_path / "wrong.py"
    with pytest.raises(LookupError, match="nothing there"):
        run(trial("python:wrong:Unmade"), tmp_path)
    with pytest.raises(TypeError, match='feedback must be "marks", "timestamps", "telemetry" or "packets"'):
        run(trial("python:wrong:Loud"), tmp_path)
    with pytest.raises(PlanError, match="takes no parameters"):
        run(trial("python:wrong:Raises", controller=(("gain", "1"),)), tmp_path)


@pytest.mark.parametrize(("feedback", "hops"), [("marks", 0), ("telemetry", 2)])
def test_the_class_says_what_its_packets_carry(feedback: str, hops: int) -> None:
    seen: list[_core.AcknowledgementEvent] = []

    class Fixed:
        window = 20_000

        def __init__(self, context: _core.ControllerContext) -> None:
            assert context.line_rate == 10**10

        def on_acknowledgement(self, event: _core.AcknowledgementEvent) -> None:
            seen.append(event)

        def on_loss(self, event: _core.LossEvent) -> None: ...
        def on_timeout(self, event: _core.TimeoutEvent) -> None: ...

    Fixed.feedback = feedback  # pyright: ignore[reportAttributeAccessIssue]
    fabric = _core.Fabric(DUMBBELL)
    flows = _core.parse_flows("flow_id,src,dst,size_bytes,start_ns\n0,0,4,50000,0\n")
    assert _core.simulate(fabric, flows, controller=Fixed).fct_ps[0] > 0
    assert {len(event.hops) for event in seen} == {hops}
    named = _core.fluid(fabric, flows, controller="hpcc" if hops else "newreno")
    assert _core.fluid(fabric, flows, controller=Fixed) == named


@pytest.mark.parametrize("which", ["surrogates", "switching"])
def test_an_interrupt_ends_long_computations(which: str) -> None:
    fabric = _core.Fabric(DUMBBELL)
    computations: dict[str, Callable[[], object]] = {
        "surrogates": lambda: _core.surrogate_batch(
            fabric,
            np.arange(10**7, dtype=np.uint64),
            statistics=[("fct", None, (0, 2**63), (0, 2**63))],
            threads=2,
            **WORKLOAD,
        ),
        "switching": lambda: _core.simulate_switching(
            fabric,
            edges=[0.0, 1.0],
            heights=[1.0],
            threshold_ps=2**62,
            flow_seed=1,
            controller="dctcp",
            **(WORKLOAD | {"duration_ps": 10**14}),
        ),
    }
    interrupt = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])

    def interrupted() -> None:
        interrupt.start()
        computations[which]()

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        interrupt.cancel()  # of a computation that ended before
        interrupt.join()


def test_a_workload_says_which_argument_is_wrong() -> None:
    fabric = _core.Fabric(DUMBBELL)
    missing = {name: value for name, value in WORKLOAD.items() if name != "load"}
    with pytest.raises(TypeError, match="load is missing"):
        _core.generate_flows(fabric, seed=1, **missing)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="unexpected size: a workload has sizes"):
        _core.generate_flows(fabric, seed=1, size="x", **WORKLOAD)  # pyright: ignore[reportCallIssue]


def test_a_trial_that_the_class_ends_says_where_and_its_module_is_a_program(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    text = EXPERIMENT.format(scheme="python:wrong:Raises")
    experiment = parse_experiment(text, tmp_path / "experiment.toml")
    kind = SimulationKind()
    kind.check(experiment, [{}])
    assert tmp_path / "wrong.py" in [each.path for each in kind.programs(experiment, [{}])]
    task = Task(experiment=experiment, factors={}, number=1, attempt=1, series=1, round=1, position=1, seed=1)
    outcome = kind.compute(task)
    assert outcome.status == "failed"
    assert outcome.reason == "the congestion control raised ValueError: my own mistake (wrong.py, line 5)"
    assert b"Traceback (most recent call last)" in outcome.errors
    unmade = parse_experiment(EXPERIMENT.format(scheme="python:wrong:Unmade"), tmp_path / "experiment.toml")
    with pytest.raises(PlanError, match="raised LookupError: nothing there"):
        kind.check(unmade, [{}])
