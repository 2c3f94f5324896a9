"""What is identified of planted paths, from packets alone."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from trialwise import _core
from trialwise.analysis.likeness.candidates import Family
from trialwise.analysis.likeness.identifying import identify
from trialwise.errors import AnalysisError
from trialwise.measurement.packets import DIRECTIONS, Packets, joined, simulated_packets

PLAIN = {"rate": "12Mbit/s", "queue": "droptail:packets=50", "loss": "0.1%", "delay": "28ms"}


def trials(link: Mapping[str, str], schemes=("cubic", "newreno", "ledbat"), number=3, seconds=10.0, seed=1):
    back = {key: link[key] for key in ("rate", "delay")}
    made: list[Packets] = []
    for place, scheme in enumerate(schemes * number):
        flows = [(scheme, "bulk", "uplink", 0.0, seconds)]
        ways = (tuple(link.items()),), (tuple(back.items()),)
        done = _core.simulate_path(*ways, flows, directory=".", seed=100 * seed + place)
        made.append(simulated_packets(done.packets, [1]))
    return made


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_parameters_of_a_constant_link_lie_in_their_intervals(seed: int):
    way, back = identify(trials(PLAIN, seed=seed))
    assert way.service.family == "constant"
    assert way.service.rate is not None
    assert way.service.rate.low <= 12e6 <= way.service.rate.high
    assert way.service.rate.high - way.service.rate.low < 0.01 * 12e6
    assert way.delay.low <= 0.028 <= way.delay.high
    assert way.queue is not None
    assert way.queue.low <= 50 <= way.queue.high <= way.queue.low + 3
    assert way.loss.low <= 0.001 <= way.loss.high
    assert way.runs.gilbert is None
    assert way.doubts == ()
    assert back.loss.value == 0


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("loss", [{}, {"loss": "0.02%"}], ids=["no loss", "rare loss"])
def test_a_queue_that_is_nearly_always_full_and_seldom_drops_has_its_limit(seed: int, loss: dict[str, str]):
    """CUBIC alone: less than one packet in a hundred that find a long queue is lost."""
    link = {"rate": "10Mbit/s", "queue": "droptail:packets=60", "delay": "15ms", **loss}
    way, _ = identify(trials(link, ("cubic",), seed=seed, seconds=12.0))
    assert way.queue is not None
    assert way.queue.low <= 60 <= way.queue.high <= way.queue.low + 3
    assert way.loss.low <= (0.0002 if loss else 0) <= way.loss.high


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_loss_beside_a_long_queue_is_no_limit(seed: int):
    link = {"rate": "10Mbit/s", "delay": "15ms", "loss": "0.05%"}
    way, _ = identify(trials(link, ("cubic", "ledbat"), seed=seed, seconds=12.0))
    assert way.queue is None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_parameters_of_a_poisson_link_lie_in_their_intervals(seed: int):
    link = PLAIN | {"rate": "poisson:rate=6Mbit/s", "queue": "droptail:packets=80"}
    way, _ = identify(trials(link, seed=seed, number=4))
    assert way.service.family == "poisson"
    assert way.service.rate is not None
    assert way.service.rate.low <= 6e6 <= way.service.rate.high
    assert way.delay.low <= 0.028 <= way.delay.high
    assert way.queue is not None
    assert way.queue.low <= 80 <= way.queue.high
    assert way.loss.low <= 0.001 <= way.loss.high


@pytest.mark.parametrize("packets", [5, 8])
def test_the_rate_of_a_trace_is_not_that_of_its_median_gap(tmp_path: Path, packets: int):
    """Several packets leave in every third millisecond, evenly: 20 and 32 Mbit/s, though no gap is a third of them."""
    (tmp_path / "even.trace").write_text("3\n" * packets)
    link = PLAIN | {"rate": f"trace:{tmp_path / 'even.trace'}", "queue": "droptail:packets=150"}
    way, _ = identify(trials(link, seconds=6.0))
    assert way.service.rate is not None
    assert way.service.rate.low <= packets * 4e6 <= way.service.rate.high
    assert way.service.rate.high - way.service.rate.low < 0.02 * packets * 4e6


def test_losses_in_runs_are_a_gilbert_model():
    link = PLAIN | {"loss": "gilbert-elliott:to_bad=0.1%,to_good=25%"}
    way, _ = identify(trials(link, number=6))
    assert way.runs.gilbert is not None
    assert way.runs.gilbert[1] == pytest.approx(0.25, abs=0.08)


def test_a_queue_that_was_never_full_has_no_limit_but_a_longest_length():
    way, _ = identify(trials({"rate": "12Mbit/s", "delay": "28ms", "loss": "1%"}))
    assert way.queue is None
    assert way.longest > 1


def test_a_limit_that_no_fitted_scheme_shows_is_said_to_be_unknown():
    """A held-out scheme that fills the queue differs for that reason alone, on a path of the very kind that is fitted."""
    link = {"rate": "12Mbit/s", "queue": "droptail:packets=113", "delay": "28ms"}
    shown, hidden = (Family(*identify(trials(link, (scheme,)))) for scheme in ("saturator", "copa"))
    assert shown.doubts == ()
    assert hidden.identified.queue is None
    (doubt,) = hidden.doubts
    assert "uplink: no scheme to fit filled the queue" in doubt
    assert "udp-saturator" in doubt
    said = re.search(r"at least ([\d.]+) packets", doubt)
    assert said is not None
    assert 0 <= hidden.way.longest - float(said[1]) < 0.01 * hidden.way.longest, (
        "a lower bound is rounded down"
    )


def test_a_constant_error_of_the_clocks_changes_nothing():
    plain = trials(PLAIN)
    moved = [_with_offset(packets, 5.0) for packets in plain]
    for one, other in zip(identify(plain), identify(moved), strict=True):
        assert other.delay.value == pytest.approx(one.delay.value, abs=1e-9)
        assert other.loss.value == one.loss.value
        assert (other.queue and other.queue.value) == (one.queue and one.queue.value)


def _with_offset(packets: Packets, seconds: float) -> Packets:
    """Return packets as two clocks see them of which that of the receiving end is ahead."""
    ways = [packets.of(direction) for direction in DIRECTIONS]
    ahead = [
        dataclasses.replace(way, delay=way.delay + sign * seconds, time=way.time + later)
        for way, sign, later in zip(ways, (1, -1), (seconds, 0.0), strict=True)
    ]
    return joined(ahead)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (PLAIN | {"queue": "codel:packets=1000"}, "AQM"),
        (PLAIN | {"queue": "pie:packets=1000", "loss": "0.01%"}, "AQM"),
        (PLAIN | {"delay": "28ms,jitter=5ms,reorder=yes"}, "overtake"),
        (PLAIN | {"rate": "cellular:rate=6Mbit/s,dwell=1s"}, "varies"),
    ],
)
def test_paths_outside_of_the_family_are_doubted(link: Mapping[str, str], words: str):
    way, _ = identify(trials(link, number=4))
    assert any(words in doubt for doubt in way.doubts)


def test_one_trial_has_no_interval():
    with pytest.raises(AnalysisError, match="two trials"):
        identify(trials(PLAIN)[:1])


def test_packets_that_are_inside_at_the_end_do_not_make_a_full_queue_seem_empty():
    link = {"rate": "4Mbit/s", "queue": "droptail:packets=13", "delay": "30ms"}
    way, _ = identify(trials(link, ("saturator", "cubic"), number=2, seconds=6.0))
    assert (way.loss.value, way.runs.gilbert) == (0.0, None)
