"""Trials of kind path whose packets are simulated."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simulated_trials import execute, experiment, packets_of, text_of
from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.writing import write_experiment
from trialwise.schemes.library import SHIPPED
from trialwise.trials.kinds import kind_of
from trialwise.trials.simulated_path import SimulatedPathKind

NEWRENO = Path(__file__).parents[3] / "docs" / "how-to" / "newreno.py"
LINK = (("rate", "12Mbit/s"), ("queue", "droptail:packets=50"), ("delay", "28ms"), ("loss", "0.1%"))


def test_a_trial_gives_what_its_metrics_ask_for(tmp_path: Path) -> None:
    metrics = "\n".join(
        f'[metrics.{name}]\nbetter = "lower"\nmeasure = "{measure}"'
        for name, measure in [("delay", "p95"), ("rtt", "mean"), ("retransmits", "mean"), ("loss", "mean")]
    )
    outcome = execute(tmp_path, 'scheme = "udp-cubic"', metrics)
    assert (outcome.status, outcome.reason) == ("finished", None)
    values = {key: samples.values for key, samples in outcome.samples.items()}
    throughput = next(found for key, found in values.items() if "throughput" in key)
    assert 11.0 < throughput.mean() < 12.1
    packets = packets_of(tmp_path, outcome)
    assert set(packets.flows()) == {1}
    assert packets.delivered.any()
    assert packets.dropped.any()
    # The empty path takes 28 ms, a full packet 1 ms, and 50 wait at most.
    data = packets.of("uplink").where(packets.of("uplink").delivered)
    assert data.delay.min() >= 0.0285
    assert data.delay.max() <= 0.0801


def test_the_same_seed_gives_the_same_packets(tmp_path: Path) -> None:
    trial = 'scheme = "udp-copa"\nload = "flows:poisson,rate=20/s,sizes=lognormal:mean=20kB,cv=1"'
    found = [execute(tmp_path / name, trial, seed=seed) for name, seed in [("a", 7), ("b", 7), ("c", 8)]]
    first, again, other = (packets_of(tmp_path, outcome) for outcome in found)
    assert np.array_equal(first.time, again.time)
    assert not np.array_equal(first.time, other.time)


def test_a_class_in_python_does_what_the_same_in_rust_does(tmp_path: Path) -> None:
    (tmp_path / "newreno.py").write_text(NEWRENO.read_text())
    for load in ("bulk", "requests:request=200B,response=60kB,think=2s", "rate:4Mbit/s"):
        outcomes = [
            execute(tmp_path, f'scheme = "{scheme}"\nload = "{load}"')
            for scheme in ("python:newreno:NewReno", "udp-newreno")
        ]
        mine, theirs = (outcome for outcome in outcomes)
        assert mine.status == theirs.status == "finished", (mine.reason, theirs.reason)
        assert [samples.values.tolist() for samples in mine.samples.values()] == [
            samples.values.tolist() for samples in theirs.samples.values()
        ]


def test_every_packet_of_a_python_class_is_that_of_the_rust_controller(tmp_path: Path) -> None:
    mine_class = runpy.run_path(str(NEWRENO))["NewReno"]
    links = {
        "lossy": (LINK,),
        "marking": ((("rate", "12Mbit/s"), ("queue", "codel:ecn=yes"), ("delay", "10ms")),),
    }
    for name, link in links.items():
        mine, theirs = (
            _core.simulate_path(
                link, link, [(scheme, "bulk", "uplink", 0.0, 20.0)], directory=tmp_path, seed=3, interval=0
            )
            for scheme in (mine_class, "newreno")
        )
        for column in ("time_ns", "delay_ns", "size", "event", "direction", "ecn"):
            assert np.array_equal(getattr(mine.packets, column), getattr(theirs.packets, column)), (
                name,
                column,
            )


@pytest.mark.parametrize(("said", "field"), [(None, 0), (True, 2), ("ect0", 2), ("ect1", 1)])
def test_a_class_names_the_ecn_field_of_its_packets_and_is_told_what_came_of_it(
    tmp_path: Path, said: object, field: int
) -> None:
    told: list[tuple[int, int, int, int]] = []

    class Told(runpy.run_path(str(NEWRENO))["NewReno"]):  # type: ignore[misc]
        ecn = said

        def on_acknowledgement(self, event: _core.AcknowledgementEvent) -> None:
            told.append((event.packets, event.ect0_packets, event.ect1_packets, event.marked_packets))
            super().on_acknowledgement(event)

    link = ((("rate", "12Mbit/s"), ("queue", "codel:ecn=yes"), ("delay", "10ms")),)
    trial = (Told, "bulk", "uplink", 0.0, 20.0)
    packets = _core.simulate_path(link, link, [trial], directory=tmp_path, seed=3, interval=0).packets
    fields = packets.ecn[(packets.direction == 0) & (packets.event == 0)]
    assert set(fields) == ({field, 3} if field else {0})
    came, ect0, ect1, marked = (sum(column) for column in zip(*told, strict=True))
    counts = {2: ect0, 1: ect1, 3: marked, 0: came - ect0 - ect1 - marked}
    # The last packets are not acknowledged any more.
    assert {key for key, count in counts.items() if count} == set(fields)
    assert 0 <= (fields == 3).sum() - marked <= 3
    assert 0 <= len(fields) - came <= 60


def test_an_ecn_field_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(NEWRENO.read_text() + "\n\nclass L4S(NewReno):\n    ecn = 'l4s'\n")
    with pytest.raises(ValueError, match='write "ect0", "ect1", True or False'):
        _core.simulate_path(
            (LINK,),
            (LINK,),
            [(runpy.run_path(str(tmp_path / "wrong.py"))["L4S"], "bulk", "uplink", 0.0, 1.0)],
            directory=tmp_path,
            seed=3,
            interval=0,
        )


def test_what_a_class_raises_is_the_reason(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(
        "class Wrong:\n    window = 14400\n    def __init__(self, context): pass\n"
        "    def on_acknowledgement(self, event): raise RuntimeError('no idea')\n"
        "    def on_loss(self, event): pass\n    def on_timeout(self, event): pass\n"
        "class Half:\n    window = 1.5\n    def __init__(self, context): pass\n"
        "    on_acknowledgement = on_loss = on_timeout = lambda *_: None\n"
        "class Bare:\n    def __init__(self, context): pass\n"
    )
    outcome = execute(tmp_path, 'scheme = "python:wrong:Wrong"')
    assert outcome.status == "failed"
    assert outcome.reason == "the congestion control raised RuntimeError: no idea (wrong.py, line 4)"
    assert b"Traceback" in outcome.errors
    half = execute(tmp_path, 'scheme = "python:wrong:Half"')
    assert "window must be None or a whole number of bytes from 0 on, not 1.5" in str(half.reason)
    bare = execute(tmp_path, 'scheme = "python:wrong:Bare"')
    assert "on_acknowledgement" in str(bare.reason)


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        ("cubic", "exists only as real programs"),
        ("udp-cubik", "did you mean 'udp-cubic'"),
        ("python:nowhere:Class", "there is no file"),
        ("python:newreno", "names no class"),
        ("python:newreno:Vegas", "has no class Vegas"),
        ("python:broken:Class", "cannot be imported: ZeroDivisionError"),
    ],
)
def test_what_cannot_be_simulated_is_refused_before_anything_runs(
    tmp_path: Path, scheme: str, said: str
) -> None:
    (tmp_path / "newreno.py").write_text(NEWRENO.read_text())
    (tmp_path / "broken.py").write_text("1 / 0\n")
    found = experiment(tmp_path, f'scheme = "{scheme}"')
    with pytest.raises(PlanError) as refusal:
        kind_of(found).check(found, [{}])
    assert said in f"{refusal.value} {refusal.value.hint}"
    if scheme == "cubic":
        simulated = sorted(path.stem for path in SHIPPED.glob("udp-*.toml"))
        assert len(simulated) > 10
        assert ", ".join(simulated) in str(refusal.value.hint)


@pytest.mark.parametrize(
    ("congestion", "load", "said"),
    [
        ("cubik", "{load}", "no congestion control over UDP is called `cubik`"),
        ("dcqcn", "{load}", "no congestion control over UDP is called `dcqcn`"),
        ("copa:delta=x", "{load}", "copa:delta: `x` is not a fraction"),
        ("fixed_rate", "{load}", "fixed_rate:RATE: `` is not a rate"),
        ("fixed_rate:0Mbit/s", "{load}", "rate"),
        ("cubic", "nonsense", "unknown load `nonsense`"),
        ("cubic", "requests:{load}", "requests:"),
    ],
)
def test_a_scheme_whose_controller_the_core_does_not_know_is_refused_before_anything_runs(
    tmp_path: Path, congestion: str, load: str, said: str
) -> None:
    words = SCHEME.partition("[simulated]")[0].format(file="none")
    words += f'[simulated]\ncongestion = "{congestion}"\nload = "{load}"\n'
    (tmp_path / "mine.toml").write_text(words)
    found = experiment(tmp_path, 'scheme = "mine"', '[schemes]\nfolders = ["."]')
    with pytest.raises(PlanError, match=r"^scheme mine: ") as refusal:
        kind_of(found).check(found, [{}])
    assert said in str(refusal.value)


def test_a_class_needs_the_simulator(tmp_path: Path) -> None:
    (tmp_path / "newreno.py").write_text(NEWRENO.read_text())
    text = text_of('scheme = "python:newreno:NewReno"').replace('engine = "simulated"', "")
    found = parse_experiment(text, tmp_path / "experiment.toml")
    with pytest.raises(PlanError, match="packets are simulated only"):
        kind_of(found).check(found, [{}])


def test_a_load_that_is_cut_off_fails_and_a_cancelled_trial_is_abandoned(tmp_path: Path) -> None:
    cut = execute(tmp_path, 'scheme = "udp-cubic"\nload = "bytes:100MB"')
    assert (cut.status, cut.reason) == (
        "failed",
        "flow 1 (udp-cubic) did not finish its load bytes:100MB in time",
    )
    assert execute(tmp_path, 'scheme = "udp-cubic"\nflows = 40', cancel=True).status == "abandoned"


def test_a_fixed_rate_and_both_directions(tmp_path: Path) -> None:
    flows = 'flows = [{ scheme = "udp-fixed", load = "rate:5Mbit/s" }, { scheme = "udp-ledbat", direction = "downlink" }]'
    outcome = execute(tmp_path, flows)
    packets = packets_of(tmp_path, outcome)
    fixed = packets.of("uplink", 1, 1.0, 4.0)
    assert fixed.size[fixed.delivered].sum() * 8 / 3 == pytest.approx(5e6, rel=0.005)
    assert packets.of("downlink", 2).size.max() == 1500


def test_the_engine_is_written_as_it_was_read(tmp_path: Path) -> None:
    found = experiment(tmp_path, 'scheme = "udp-cubic"')
    again = parse_experiment(write_experiment(found), tmp_path / "experiment.toml")
    assert again.trial == found.trial


@pytest.mark.parametrize("engine", ["ns3", "{engine}"])
def test_engines_of_other_kinds_are_refused(tmp_path: Path, engine: str) -> None:
    with pytest.raises(PlanError, match='must be "emulated" or "simulated"'):
        parse_experiment(
            text_of('scheme = "udp-cubic"').replace('engine = "simulated"', f'engine = "{engine}"'),
            tmp_path / "experiment.toml",
        )


def test_keys_of_programs_do_not_go_with_simulated_packets(tmp_path: Path) -> None:
    for key in ('lateness = "2ms"', 'environment = { A = "1" }'):
        with pytest.raises(PlanError, match="no program runs"):
            experiment(tmp_path, f'scheme = "udp-cubic"\n{key}')


def test_the_analysis_goes_by_simulated_time(tmp_path: Path) -> None:
    experiment_file = tmp_path / "experiment.toml"
    text = text_of('scheme = "udp-cubic"') + "\n[design]\nseries = 1\nrounds = 1\n"
    experiment_file.write_text(text)
    command = [Path(sys.executable).with_name("trialwise")]
    subprocess.run([*command, "run", experiment_file], cwd=tmp_path, check=True, capture_output=True)
    (results,) = tmp_path.glob("*.results")
    done = subprocess.run([*command, "analyze", results, "--json"], check=False, capture_output=True)
    (treatment,) = json.loads(done.stdout)["path"]["treatments"]
    assert 11.0 < treatment["flows"][0]["throughput"]["median"] < 12.1


def test_a_flow_that_stops_before_it_starts_is_refused_by_the_core(tmp_path):
    flows = [("cubic", "bulk", "uplink", 0.5, 0.2)]
    with pytest.raises(_core.PathSimulationError, match=r"starts at 0.5 s cannot stop at 0.2 s"):
        _core.simulate_path([], [], flows, directory=str(tmp_path), seed=0)


BESIDE = 'flows = [{{ scheme = "{first}" }}, {{ scheme = "{second}", start = "1s" }}]'
OF_FLOWS = """
[metrics.first]
quantity = "share"
flow = 1
better = "higher"
[metrics.second]
quantity = "throughput"
flow = 2
better = "higher"
"""


def test_a_flow_that_is_none_does_not_run_and_the_others_keep_their_numbers(tmp_path: Path) -> None:
    first, second = "path:share|flow:1", "path:throughput|flow:2|bin:0.1"
    whole = execute(tmp_path, BESIDE.format(first="udp-cubic", second="udp-cubic"), OF_FLOWS)
    assert set(packets_of(tmp_path, whole).flows()) == {1, 2}
    assert set(whole.samples) == {"path:throughput|bin:0.1", first, second}
    alone = execute(tmp_path, BESIDE.format(first="udp-cubic", second="none"), OF_FLOWS)
    assert set(packets_of(tmp_path, alone).flows()) == {1}
    assert alone.samples[first].values == [1]
    assert second not in alone.samples
    late = execute(tmp_path, BESIDE.format(first="none", second="udp-cubic"), OF_FLOWS)
    packets = packets_of(tmp_path, late)
    assert set(packets.flows()) == {2}
    assert packets.time.min() > 1
    assert first not in late.samples
    assert late.samples[second].values.mean() > 8


def test_a_flow_alone_is_the_flow_of_a_trial_without_the_other(tmp_path: Path) -> None:
    alone = execute(tmp_path, BESIDE.format(first="udp-copa", second="none"))
    single = execute(tmp_path, 'flows = [{ scheme = "udp-copa" }]')
    assert np.array_equal(packets_of(tmp_path, alone).time, packets_of(tmp_path, single).time)


def test_a_trial_in_which_no_flow_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no flow runs"):
        execute(tmp_path, BESIDE.format(first="none", second="none"))


def test_a_flow_that_gets_nothing_beside_another_is_a_result(tmp_path: Path) -> None:
    """Its delay has no value; the trial was failed, so that the throughput of 0 was lost too."""
    metrics = "\n".join(
        f'[metrics.{name}]\nquantity = "{quantity}"\nflow = 2\nbetter = "higher"\nmeasure = "mean"'
        for name, quantity in [("late", "delay"), ("lost", "loss"), ("got", "throughput"), ("part", "share")]
    )
    flows = 'flows = [{ scheme = "udp-cubic" }, { scheme = "udp-cubic", start = "4.99s" }]'
    starved = execute(tmp_path, flows, metrics)
    assert (starved.status, starved.reason) == ("finished", None)
    assert {"path:delay|flow:2", "path:loss|flow:2"}.isdisjoint(starved.samples)
    assert starved.samples["path:throughput|flow:2|bin:0.1"].values == [0]
    assert starved.samples["path:share|flow:2"].values == [0]
    alone = execute(tmp_path, flows.replace("udp-cubic", "none", 1), metrics)
    assert (alone.status, alone.reason) == ("failed", "metric late: no packet was delivered")


def test_a_share_is_of_one_flow(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="share is of one flow"):
        experiment(tmp_path, 'scheme = "udp-cubic"', "[metrics.share]")


def test_a_flow_that_is_further_away_takes_so_much_longer_each_way(tmp_path: Path) -> None:
    """Packets of 1500 bytes take 1 ms at 12 Mbit/s: 29 ms on the path, and 30 more where that is the flow's own delay."""
    fixed = 'scheme = "udp-fixed", load = "rate:1Mbit/s"'
    flows = f'flows = [{{ {fixed} }}, {{ {fixed}, start = "5ms", delay = "OWN" }}]'
    metrics = "[metrics.delay]\nflow = 2\n[metrics.queueing_delay]\nflow = 2\n"
    smallest = {}
    for own in ("0s", "30ms"):
        outcome = execute(tmp_path, flows.replace("OWN", own), metrics)
        assert outcome.status == "finished"
        packets = packets_of(tmp_path, outcome)
        data = packets.where(packets.delivered & (packets.direction == 0) & (packets.size == 1500))
        smallest[own] = [round(float(data.where(data.flow == flow).delay.min()) * 1e3, 6) for flow in (1, 2)]
        delay, queueing = (
            outcome.samples[f"path:{name}|flow:2"].values for name in ("delay", "queueing_delay")
        )
        assert delay - queueing == pytest.approx(28 + (30 if own == "30ms" else 0))
    assert smallest == {"0s": [29, 29], "30ms": [29, 59]}


@pytest.mark.parametrize(
    ("delay", "said"), [("fast", "delay: "), ("-3ms", "delay: "), ("{nothing}", "nothing")]
)
def test_a_delay_that_is_no_time_is_refused(tmp_path: Path, delay: str, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        experiment(tmp_path, f'flows = [{{ scheme = "udp-cubic", delay = "{delay}" }}]')


TABLE = Path(__file__).parents[3] / "crates/congestion/tables/trialwise-1x.json"
SCHEME = """
title = "Mine"
[loads]
bulk = "bulk"
[receiver]
command = "{{flow}} udp receive --port {{port}}"
[sender]
command = "{{flow}} udp send {{peer}} {{port}} --congestion remy:table={{folder}}/{file}"
[simulated]
congestion = "remy:table={{folder}}/{file}"
"""


def test_a_scheme_names_a_table_in_its_own_folder(tmp_path: Path) -> None:
    folder = tmp_path / "my schemes"
    folder.mkdir()
    (folder / "mine.toml").write_text(SCHEME.format(file="mine.json"))
    (folder / "mine.json").write_text(TABLE.read_text())
    trial = 'scheme = "mine"'
    found = experiment(tmp_path, trial, '[schemes]\nfolders = ["my schemes"]')
    kind = kind_of(found)
    assert isinstance(kind, SimulatedPathKind)
    assert {name for name, _ in kind.attachments(found, [{}])} == {"schemes/mine.toml", "schemes/mine.json"}
    done = execute(tmp_path, trial, '[schemes]\nfolders = ["my schemes"]')
    shipped = execute(tmp_path, 'scheme = "udp-remy"')
    assert done.status == "finished", done.reason
    assert np.array_equal(packets_of(folder, done).time, packets_of(tmp_path, shipped).time)
    (folder / "mine.json").write_text(TABLE.read_text().replace("remy-table", "onnx"))
    with pytest.raises(PlanError, match='known is "remy-table" of version 1'):
        execute(tmp_path, trial, '[schemes]\nfolders = ["my schemes"]')


def test_what_is_in_flight_when_the_flow_is_stopped_counts_as_lost_in_pantheons_loss(tmp_path: Path) -> None:
    """Pantheon ends both sides at once: 1 − departed bytes / arrived bytes has those in flight among the lost.

    At 5 Mbit/s a packet leaves each 2.4 ms and takes 29 ms: of the 2,084 packets of five seconds, the last twelve are not out.
    """
    outcome = execute(
        tmp_path, 'scheme = "udp-fixed"\nload = "rate:5Mbit/s"', "[metrics.pantheon_loss]\n[metrics.loss]\n"
    )
    packets = packets_of(tmp_path, outcome)
    data = packets.where(packets.direction == 0)
    came = data.where(data.time - data.delay < 5)
    out = came.where(came.delivered & (came.time < 5))
    (found,) = outcome.samples["path:pantheon_loss"].values
    assert found == pytest.approx(100 * (1 - out.size.sum() / came.size.sum()))
    assert found == pytest.approx(100 * 12 / 2084, rel=0.1)
    assert outcome.samples["path:loss"].values == pytest.approx([0])
