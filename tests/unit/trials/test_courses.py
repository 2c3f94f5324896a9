"""Simulated trials over paths that change over time: a recording, orbits, handovers, corruption."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulated_trials import execute, packets_of
from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.named_paths import path_named
from trialwise.experiment.trials import PathSettings, with_ways
from trialwise.trials.held_files import HeldFiles, files_named

RECORDING = """# trialwise.path/1 {}
time_ms,direction,rate_bps,base_delay_us,state
0,uplink,12000000,10000,on
0,downlink,,30000,
2000,uplink,4000000,40000,hold
2100,uplink,,,on
5000,uplink,,,
"""


def run(folder: Path, path: str, **more):
    (folder / "some.path").write_text(RECORDING)
    return execute(folder, 'scheme = "udp-cubic"', path=path, **more)


def uplink(folder: Path, path: str):
    outcome = run(folder, path)
    assert (outcome.status, outcome.reason) == ("finished", None)
    packets = packets_of(folder, outcome)
    return packets, packets.of("uplink")


def test_a_path_is_a_recording_alone_each_way_its_own(tmp_path: Path):
    packets, sent = uplink(tmp_path, '"recording:some.path"')
    arrived = sent.where(sent.delivered)
    down = packets.of("downlink")
    assert down.delay[down.delivered].min() == pytest.approx(0.030)
    before, after = arrived.of(stop=2.0), arrived.of(start=2.5)
    assert before.delay.min() == pytest.approx(0.011, abs=2e-4)
    assert after.delay.min() >= 0.040
    assert not ((arrived.time - 0.040 > 2.0005) & (arrived.time - 0.040 < 2.0995)).any(), "held"
    assert after.size.sum() * 8 / (after.time.max() - after.time.min()) < 4.1e6


def test_a_recording_takes_a_queue_and_what_else_it_does_not_say(tmp_path: Path):
    path = '{ course = "recording:some.path,repeat=no", uplink = { queue = "droptail:packets=10" }, corrupt = "1%" }'
    packets, sent = uplink(tmp_path, path)
    table = dict(zip(*np.unique(packets.event, return_counts=True), strict=True))
    assert table[5] > 0, "the queue of ten overflows"
    # 1 % of all that leaves the queue, both ways.
    share = table[7] / (table[0] + table[7])
    assert 0.005 < share < 0.015
    assert len(sent) > 500


def test_orbits_change_both_ways_at_the_same_instants(tmp_path: Path):
    settings = "leo:rate=5Mbit/s..20Mbit/s,period=1s,phase=1s,outage={outage},length=10s"
    _, sent = uplink(tmp_path, f'{{ course = "{settings.format(outage="100%")}" }}')
    lost = sent.where(sent.dropped)
    assert len(lost) > 0
    assert (np.mod(lost.time, 1.0) < 0.1005).all()
    _, sent = uplink(tmp_path, f'{{ course = "{settings.format(outage="0%")}" }}')
    assert not sent.dropped.any()


def test_a_handover_holds_and_loses_nothing(tmp_path: Path):
    path = '{ rate = "12Mbit/s", delay = "20ms", handover = "every:1s,hold=100ms" }'
    _, sent = uplink(tmp_path, path)
    assert not sent.dropped.any()
    assert not (
        (np.mod(sent.time - 0.02, 1.0) > 0.0005)
        & (np.mod(sent.time - 0.02, 1.0) < 0.0995)
        & (sent.time > 1.1)
    ).any()


def test_a_bleached_path_delivers_no_mark(tmp_path: Path):
    path = '{ rate = "12Mbit/s", delay = "20ms", ecn = "drop-ect1" }'
    outcome = execute(tmp_path, 'scheme = "udp-prague"', path=path)
    packets = packets_of(tmp_path, outcome)
    assert (packets.event[packets.direction == 0] == 8).any()


def test_files_and_ways_of_courses_are_known(tmp_path: Path):
    found = with_ways(path_named("recording:a.path,repeat=mirror"))
    assert found.uplink == ((("course", "recording:a.path,repeat=mirror,way=uplink"),),)
    assert list(files_named(found.downlink)) == ["a.path"]
    told = with_ways(PathSettings(((("course", "recording:a.path,way=downlink"),),), ()))
    assert told.uplink[0][0][1] == "recording:a.path,way=downlink"
    assert path_named("leo:rate=1Mbit/s..2Mbit/s").downlink == ((("course", "leo:rate=1Mbit/s..2Mbit/s"),),)
    with pytest.raises(PlanError, match="no path is called 'lio:rate=1Mbit/s'"):
        path_named("lio:rate=1Mbit/s")
    assert path_named("satellite:geo").uplink[0][0][0] in {"rate", "delay"}
    (tmp_path / "a.path").write_text(RECORDING)
    files = HeldFiles()
    groups = files.groups(with_ways(path_named("recording:a.path")).uplink, str(tmp_path))
    assert _core.check_link(groups, ".").elements == ["rate", "handover", "delay"]
