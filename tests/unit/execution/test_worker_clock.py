"""The offset of a worker's clock is known within its round trips, and no better."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trialwise.execution.workers.clock import ClockOffset, ClockProbes, Probe, offset_of


def _probes(offset: float, seed: int, n: int, *, drift: float = 0.0) -> list[Probe]:
    """Questions to a clock that is `offset` ahead: ways there and back are as long as they like, each for itself."""
    rng = np.random.default_rng(seed)
    made: list[Probe] = []
    now = 1.7e9
    for place in range(n):
        there, back = rng.exponential(0.3, 2) + 1e-4
        made.append(Probe(now, now + there + offset + drift * place, now + there + back))
        now += there + back + rng.exponential(5.0)
    return made


@pytest.mark.parametrize("offset", [0.0, 1e-3, -0.4, 3600.0])
@pytest.mark.parametrize("seed", range(50))
def test_the_offset_lies_within_its_bound(offset: float, seed: int):
    """By construction; a single probe is NTP's estimate, and more of them only narrow the bound."""
    probes = _probes(offset, seed, 8)
    found = [offset_of(probes[:count]) for count in range(1, 9)]
    for one in found:
        assert one is not None
        assert abs(one.offset - offset) <= one.bound + 1e-6
    first = probes[0]
    assert found[0] is not None
    assert found[0].offset == pytest.approx(first.there - (first.before + first.after) / 2, abs=1e-6)
    assert found[0].bound == pytest.approx((first.after - first.before) / 2, abs=1e-6)
    assert found[-1] is not None
    assert found[-1].bound <= found[0].bound


@pytest.mark.parametrize("seed", range(50))
def test_one_clock_is_never_shifted(seed: int):
    """On one machine the offset is 0: whatever the load does to the ways, times stay as they are."""
    clock = ClockProbes()
    for probe in _probes(0.0, seed, 30):
        clock.add(probe)
        assert clock.found.shift == 0.0
        assert clock.found.text.startswith("its clock is not known to differ from ours (± ")


def test_half_of_a_slow_first_answer_is_no_offset():
    """The worker starts for 2 s and reads its clock at the end: that is no second ahead."""
    clock = ClockProbes()
    clock.add(Probe(100.0, 101.99, 102.0))
    assert clock.found.shift == 0.0
    clock.add(Probe(102.0, 102.0005, 102.001))
    assert clock.found.bound <= 0.0006
    assert clock.found.shift == 0.0


def test_an_offset_beyond_the_bound_is_shifted_and_told_with_it():
    clock = ClockProbes()
    clock.add(Probe(100.0, 105.01, 100.02))
    assert clock.found.shift == pytest.approx(5.0)
    assert clock.found.text == "its clock is 5s ahead of ours (± 10ms)"


def test_a_clock_that_was_set_is_believed_anew():
    clock = ClockProbes()
    for probe in (*_probes(0.0, 1, 5), Probe(1.7e9 + 100, 1.7e9 + 160.01, 1.7e9 + 100.02)):
        clock.add(probe)
    assert clock.found.offset == pytest.approx(60.0, abs=0.011)
    assert clock.found.bound == pytest.approx(0.01)


def test_drift_is_no_contradiction():
    clock = ClockProbes()
    for probe in _probes(0.2, 3, 40, drift=1e-5):
        clock.add(probe)
        assert abs(clock.found.offset - 0.2) <= clock.found.bound + 1e-3


def test_nothing_is_known_before_the_first_probe():
    assert ClockProbes().found == ClockOffset(0.0, math.inf)
    assert ClockProbes().found.shift == 0.0


def test_a_probe_that_took_no_time_tells_the_offset_itself():
    """Nothing lies between before and after: the bound is 0, which is no contradiction."""
    assert offset_of([Probe(10.0, 12.5, 10.0)]) == ClockOffset(2.5, 0.0)
