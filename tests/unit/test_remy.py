"""Tables of rules: the trainer, what it ships, and a second implementation of the controller."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trialwise import _core

FOLDER = Path(__file__).parents[2] / "examples" / "remy"
sys.path.insert(0, str(FOLDER))

from judge import values  # noqa: E402
from tables import END, Rule, Watched, rules_of, text_of  # noqa: E402
from train import first_rules, steps  # noqa: E402

from worlds import BUFFERS, RATES, ROUND_TRIPS, SECONDS, draw, worth  # noqa: E402

SHIPPED = Path(__file__).parents[2] / "crates/congestion/tables/trialwise-1x.json"


def command(evaluations: int, *more: str) -> list[str]:
    words = [sys.executable, str(FOLDER / "train.py"), "table.json", "--networks", "2", "--jobs", "1"]
    return [*words, "--evaluations", str(evaluations), *more]


def train(folder: Path, evaluations: int, *more: str) -> subprocess.CompletedProcess[str]:
    words = command(evaluations, *more)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def packets(network, congestion) -> list[np.ndarray]:
    found = _core.simulate_path(
        [[("rate", f"{network.rate:.0f}bit/s"), ("delay", "20ms"), ("queue", f"droptail:packets={network.buffer}"), ("loss", "0.5%")]],
        [[("delay", "20ms")]],
        [(congestion, "bulk", "uplink", 0.0, 3.0), (congestion, "bulk", "uplink", 1.0, 2.0)],
        directory=Path(),
        seed=3,
    ).packets  # fmt: skip
    return [found.time_ns, found.delay_ns, found.flow, found.event]


def test_the_controller_in_python_sends_the_same_packets():
    rules = rules_of(SHIPPED.read_text())
    for number in range(4):
        network = draw(5, number)
        ours = packets(network, "remy:table=trialwise-1x")
        other = packets(network, Watched.following(rules))
        assert all(np.array_equal(*pair) for pair in zip(ours, other, strict=True))
        assert len(ours[0]) > 100


def test_networks_are_of_the_ranges_and_draws_are_repeatable():
    networks = [draw(1, number) for number in range(300)]
    assert networks == [draw(1, number) for number in range(300)]
    for network in networks:
        assert RATES[0] <= network.rate <= RATES[1]
        assert ROUND_TRIPS[0] <= network.round_trip <= ROUND_TRIPS[1]
        product = network.rate * network.round_trip / 8 / 1500
        assert network.buffer <= max(BUFFERS[1] * product + 1, 2)
        assert len(network.periods) in (1, 2)
        assert all(0 <= start < stop <= SECONDS for periods in network.periods for start, stop in periods)
    assert np.median([network.rate for network in networks]) == pytest.approx(10e6, rel=0.35)
    assert draw(1, 7, 10.0).rate == pytest.approx(10 * draw(1, 7).rate)


def test_a_table_is_worth_what_throughput_and_delay_are_worth():
    network = draw(1, 0)
    alone = type(network)(12e6, 0.1, 1000, (((0.0, 10.0),),), 1)
    # 5 packets of 1500 bytes in a round trip: 0.6 Mbit/s, without a queue.
    held = text_of([Rule(window_multiple=0.0, window_increment=5.0, gap_ms=1.0)])
    assert worth(alone, Watched.following(rules_of(held))) == pytest.approx(np.log(0.6 / 12), abs=0.03)
    # 200 packets where 101 fit: twice the round trip, and the whole link.
    full = text_of([Rule(window_multiple=0.0, window_increment=202.0, gap_ms=0.01)])
    assert worth(alone, Watched.following(rules_of(full))) == pytest.approx(-np.log(2), abs=0.05)


def test_rules_are_divided_without_gaps_and_the_file_says_the_same():
    parts = [part for half in Rule().divided([5.0, 6.0, 1.2]) for part in half.divided([2.0, 7.0, 1.3])]
    volume = sum(
        np.prod([(high - low) / END for low, high in zip(part.low, part.high, strict=True)]) for part in parts
    )
    assert volume == pytest.approx(1)
    assert rules_of(text_of(parts, {"seed": 1})) == parts


def test_steps_stay_in_the_ranges_and_never_keep_a_flow_from_beginning():
    for rule in (
        Rule(),
        Rule(window_multiple=0.0, window_increment=-256.0, gap_ms=0.01, low=(0, 0, 1.0, 0)),
        Rule(window_multiple=2.0),
    ):
        for step in steps(rule):
            assert 0 <= step.window_multiple <= 2
            assert -256 <= step.window_increment <= 256
            assert 0.01 <= step.gap_ms <= 1000
            assert any(step.low) or step.window_increment >= 1


def test_a_training_that_is_killed_comes_to_the_same_table(tmp_path: Path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    assert train(whole, 260).returncode == 0
    state = parts / "table.json.state"
    with subprocess.Popen(command(260), cwd=parts, stderr=subprocess.PIPE, text=True) as first:
        assert first.stderr is not None
        said = "".join(itertools.islice(first.stderr, 3))
        first.kill()
    assert "min left" in said
    assert state.exists()
    assert train(parts, 260).returncode == 0
    tables = [json.loads((folder / "table.json").read_text()) for folder in (whole, parts)]
    assert tables[0]["rules"] == tables[1]["rules"]
    assert len(tables[0]["rules"]) > len(first_rules())
    assert tables[0]["trained"]["seed"] == 1
    first_table = Watched.following(first_rules())
    assert (
        tables[0]["trained"]["worth"] > (worth(draw(1, 0), first_table) + worth(draw(1, 1), first_table)) / 2
    )
    refused = train(parts, 260, "--seed", "2")
    assert refused.returncode == 1
    assert "is of a training with" in refused.stderr
    assert not list(parts.glob("*.new"))


def test_the_table_that_ships_says_how_it_was_made_and_is_worth_more_than_its_rivals():
    trained = json.loads(SHIPPED.read_text())["trained"]
    assert {"command", "seed", "objective", "scenarios", "hours"} <= trained.keys()
    found = {
        name: np.array([values(name, 77, 1.0, number) for number in range(60)])
        for name in ("remy", "cubic", "newreno")
    }
    for rival in ("cubic", "newreno"):
        assert np.mean(found["remy"] > found[rival]) >= 0.9, rival
