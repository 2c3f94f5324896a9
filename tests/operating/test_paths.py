"""What emulated paths and the schemes over them must be like on any machine; finer figures are in benches/paths.py.

Schemes that are written twice (by us, by the kernel, by ngtcp2, by libutp) are held against each other. The bands are there to
catch a controller that is not the one its name says. Measured in five runs on a two-core machine, median queueing delay on
the shallow (20 ms) and the deep queue (200 ms): cubic 16 and 165-182 ms, udp-cubic 15 and 172-189; reno 13 and 112-121, udp-newreno
12-13 and 115-124; libutp-ledbat 14 and 77-89, udp-ledbat 14 and 54-62; vegas, udp-copa and bbr below 10 on the deep queue.
ngtcp2's senders (14 and 11-12 on the shallow queue) keep some 100 kB on the way on the deep one under either controller, 46-77 ms,
without a loss in 40 s: there their band says only that this stays so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from tests.system.paths import needs_paths

from path_trials import Found, Setting, run_all
from trialwise import _linux
from trialwise.experiment.trials import PathFlow
from trialwise.measurement.packets import EVENTS, Packets

pytestmark = [needs_paths, pytest.mark.alone, pytest.mark.operating]

RATE = 12.0
"""Mbit/s."""
RUNTIME, WARMUP = 6.0, 3.0
LOST = EVENTS.index("dropped:loss")


def link(packets: int, delay: str = "10ms", **more: str) -> dict[str, str]:
    return {"rate": f"{RATE:g}Mbit/s", "queue": f"droptail:packets={packets}", "delay": delay, **more}


SHALLOW, DEEP = link(20), link(200)
"""Queues of one and of ten bandwidth-delay products: 20 ms and 200 ms."""
LOSSY_DELAY = 0.028
LOSSY = link(50, "28ms", loss="0.4%")
DEEP_BANDS = {
    ("cubic", "udp-cubic"): (0.75, 1.35),
    ("cubic", "ngtcp2-cubic"): (0.2, 0.6),
    ("reno", "udp-newreno"): (0.75, 1.35),
    ("reno", "ngtcp2-reno"): (0.3, 0.85),
    ("libutp-ledbat", "udp-ledbat"): (0.45, 1.1),
}
"""Pairs of implementations, and where the ratio of their queueing delays on the deep queue lies (measured: 0.95-1.15, 0.32-0.34,
1.02, 0.46-0.63, 0.69-0.70). Reno in the place of cubic has 0.67, cubic in that of reno 1.5."""
PAIRS = tuple(DEEP_BANDS)
DECREASES = (("cubic", "reno"), ("udp-cubic", "udp-newreno"), ("ngtcp2-cubic", "ngtcp2-reno"))
"""Of each author: CUBIC, which leaves 70 % of the window at a loss (RFC 9438, section 4.6), and Reno, which halves it."""
EVERY = sorted({name for pair in PAIRS for name in pair})
TURNS = 3
"""Trials of which the middle one counts where schemes differ by less than a machine that stands still for an instant takes away."""
QUIET = ("vegas", "udp-copa")
LEDBATS = ("libutp-ledbat", "udp-ledbat")


def one(scheme: str, path: Mapping[str, str]) -> Setting:
    return Setting((PathFlow(scheme),), path, RUNTIME, WARMUP)


def under_loss(scheme: str) -> Setting:
    """Ten seconds are cut: slow start before the first losses leaves a window that takes so long to be forgotten."""
    return Setting((PathFlow(scheme),), LOSSY, runtime=18.0, warmup=10.0, seed=2)


def fixed(seed: int) -> Setting:
    """A flow that no drop slows down, through a queue that drops nothing even when the machine stalls the sender."""
    path = {"rate": f"{RATE:g}Mbit/s", "delay": "28ms", "loss": "0.4%"}
    return Setting((PathFlow("udp-fixed", load="rate:6Mbit/s"),), path, runtime=4.0, warmup=0.0, seed=seed)


def joined_later(scheme: str) -> Setting:
    """A flow that CUBIC joins."""
    return Setting((PathFlow(scheme), PathFlow("cubic", start=2.0)), DEEP, runtime=9.0, warmup=6.0)


SETTINGS: dict[str, Setting] = {
    **{f"lossy/{name}": under_loss(name) for name in ("cubic", "bbr")},
    **{f"fixed/{run}": fixed(seed) for run, seed in enumerate((5, 5, 6))},
    **{f"yield/{name}": joined_later(name) for name in (*LEDBATS, "cubic")},
    **{f"deep/{name}": one(name, DEEP) for name in (*EVERY, *QUIET)},
    **{f"shallow/{name}": one(name, SHALLOW) for name in EVERY},
    **{
        f"again/{name}/{turn}": one(name, SHALLOW)
        for pair in DECREASES
        for name in pair
        for turn in range(1, TURNS)
    },
}


@dataclass(frozen=True, slots=True)
class Trials:
    """What all trials came to; asking for one that cannot be here skips the test."""

    found: Mapping[str, Found]

    def __getitem__(self, name: str) -> Found:
        if name not in self.found:
            pytest.skip(f"{name}: {SETTINGS[name].lacking}")
        return self.found[name]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    return Trials(run_all(SETTINGS, tmp_path_factory.mktemp("trials")))


def test_a_datagram_over_an_idle_path_arrives_when_the_model_says() -> None:
    found = _linux.measure_ceiling(4.0, lambda _stage, _share: None)
    assert found.delay_error_median <= 0.3e-3


def test_bytes_on_the_wire_are_those_of_the_rate(trials: Trials) -> None:
    assert trials["deep/cubic"].utilization == pytest.approx(100, abs=1)
    assert trials["deep/cubic"].queueing < 201, "200 packets of 1 ms"


def fates(packets: Packets) -> np.ndarray:
    """Whether each packet of the uplink was lost at random, in the order in which they met the loss.

    The rate before it keeps them a fraction of a millisecond apart; the delay behind it is that of the path.
    """
    past = packets.of("uplink")
    past = past.where(~past.held)
    met = past.time - np.where(past.delivered, LOSSY_DELAY, 0)
    return (past.event == LOST)[np.argsort(met, kind="stable")]


def test_the_seed_decides_which_packets_are_lost(trials: Trials) -> None:
    first, again, other = (fates(trials[f"fixed/{run}"].packets) for run in range(3))
    length = min(first.size, again.size, other.size) - 100
    assert length > 1500
    assert first[:length].sum() >= 2
    assert np.array_equal(first[:length], again[:length])
    assert not np.array_equal(first[:length], other[:length])


def test_bbr_ignores_random_loss_that_halves_cubic(trials: Trials) -> None:
    (cubic,), (bbr,) = trials["lossy/cubic"].throughputs, trials["lossy/bbr"].throughputs
    assert bbr > 0.85 * RATE
    assert bbr >= 2 * cubic


@pytest.mark.parametrize(("reference", "other"), PAIRS)
def test_two_implementations_agree_on_a_shallow_queue(trials: Trials, reference: str, other: str) -> None:
    expected, found = trials[f"shallow/{reference}"], trials[f"shallow/{other}"]
    assert found.throughputs[0] == pytest.approx(expected.throughputs[0], rel=0.08)
    assert found.queueing == pytest.approx(expected.queueing, abs=4)


def middle_queueing(trials: Trials, scheme: str) -> float:
    """Return the median, over `TURNS` trials on the shallow queue, of their median queueing delays, in ms."""
    names = [f"shallow/{scheme}", *(f"again/{scheme}/{turn}" for turn in range(1, TURNS))]
    return float(np.median([trials[name].queueing for name in names]))


@pytest.mark.parametrize(("cubic", "reno"), DECREASES)
def test_cubic_gives_up_less_than_reno_at_a_loss(trials: Trials, cubic: str, reno: str) -> None:
    assert middle_queueing(trials, cubic) > middle_queueing(trials, reno) + 0.8


@pytest.mark.parametrize(("reference", "other"), PAIRS)
def test_two_implementations_agree_on_a_deep_queue(trials: Trials, reference: str, other: str) -> None:
    expected, found = trials[f"deep/{reference}"], trials[f"deep/{other}"]
    assert found.throughputs[0] == pytest.approx(expected.throughputs[0], rel=0.05)
    low, high = DEEP_BANDS[reference, other]
    assert low < found.queueing / expected.queueing < high


@pytest.mark.parametrize("scheme", QUIET)
def test_delay_based_controllers_hold_the_delay_down(trials: Trials, scheme: str) -> None:
    assert trials[f"deep/{scheme}"].throughputs[0] > 0.85 * RATE
    assert trials[f"deep/{scheme}"].queueing < trials["deep/cubic"].queueing / 5


@pytest.mark.parametrize("scheme", LEDBATS)
def test_ledbat_stays_below_its_target_and_gives_way_to_cubic(trials: Trials, scheme: str) -> None:
    assert trials[f"deep/{scheme}"].queueing < 120, "its target is 100 ms at most (RFC 6817, section 2.5)"
    own, joined = trials[f"yield/{scheme}"].throughputs
    assert own < joined / 1.5
    assert own < trials["yield/cubic"].throughputs[0] / 1.5
