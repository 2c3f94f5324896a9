"""Aurora and Indigo: what policies see and do, the files they refuse, those that ship, the trainings, and the controllers in Rust."""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.trials.test_simulated_path import execute, experiment, kind_of, packets_of

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.schemes.python_class import class_named, files_of, python_scheme

FOLDER = Path(__file__).parents[2] / "examples" / "learned"
sys.path.insert(0, str(FOLDER))

from aurora import FILE, SIZES, Aurora, Interval, Policy, PolicyError, changed  # noqa: E402
from links import BUFFERS, LOSSES, RATES, ROUND_TRIPS, Link, draw, judged, run  # noqa: E402
from networks import trained_of, weights_of  # noqa: E402
from train_indigo import (  # noqa: E402
    Lesson,
    best_action,
    first_policy,
    following,
    onnx_of,
    policy_of,
    side_by_side,
    slopes,
    wanted_window,
)

SHIPPED = Path(__file__).parents[2] / "crates/congestion/policies"

MS = 10**9
"""Picoseconds."""
SEGMENT = 1440
PARAMETERS = 31 * 32 + 33 * 16 + 17


class Driven:
    """A controller whose policy always answers the same, and events by hand."""

    def __init__(self, action: float) -> None:
        self.seen: list[list[float]] = []
        policy = SimpleNamespace(action=lambda inputs: self.seen.append(inputs) or action)
        made = type("Made", (Aurora,), {"policy": policy})
        self.controller = made(SimpleNamespace(now_ps=0, segment=SEGMENT))

    def interval(self, sent: int, acknowledged: int, round_trips: list[int], *, limited: bool = False) -> int:
        """Send and acknowledge so many packets, with round trips in milliseconds, and return when the interval ended."""
        for _ in range(sent):
            self.controller.on_sent(SimpleNamespace(bytes=SEGMENT))
        acked = [acknowledged * SEGMENT, *[0] * (len(round_trips) - 1)]
        for round_trip, newly in zip(round_trips, acked, strict=False):
            self.controller.on_acknowledgement(
                SimpleNamespace(rtt_ps=round_trip * MS, acknowledged=newly, application_limited=limited)
            )
        now = self.controller.next_timer_ps
        self.controller.on_timer(now)
        return now


def test_the_rate_doubles_in_28_actions_of_one() -> None:
    up = Driven(1.0)
    for _ in range(28):
        up.interval(5, 5, [50, 50])
    assert up.controller.rate / 1e6 == pytest.approx(1.025**28, rel=1e-12)
    assert up.controller.rate / 1e6 == pytest.approx(2.0, abs=0.01)
    assert up.controller.pacing_rate == round(up.controller.rate)
    assert changed(changed(3e6, 7.0), -7.0) == pytest.approx(3e6)


def test_actions_are_bounded_and_no_number_holds_the_rate() -> None:
    assert changed(5e6, math.nan) == 5e6
    assert changed(5e6, math.inf) == 10e6
    assert changed(5e6, -math.inf) == 2.5e6
    assert changed(0.9e9, 40.0) == 1e9
    assert changed(70e3, -40.0) == 64e3
    held = Driven(math.nan)
    held.interval(5, 5, [50])
    assert held.controller.rate == 1e6


def test_the_state_of_known_acknowledgements() -> None:
    driven = Driven(0.0)
    assert driven.interval(4, 3, [40, 40, 60, 60]) == 100 * MS  # before a round trip is known
    # Later half less earlier half, 20 ms in 100 ms; the mean, 50 ms, is the least; 4 sent and 3 acknowledged.
    assert driven.controller.history[-1] == pytest.approx((0.2, 1.0, 4 / 3))
    assert (
        driven.interval(2, 4, [100, 100, 100]) == 150 * MS
    )  # a round trip: more than four packets take at 1 Mbit/s
    assert driven.controller.history[-1] == pytest.approx((0.0, 2.0, 0.5))
    assert driven.interval(3, 0, []) == 250 * MS
    assert driven.controller.history[-1] == pytest.approx((0.0, 2.0, 10.0))
    driven.interval(0, 0, [])  # nothing was sent: nothing is decided
    assert len(driven.seen) == 3
    idle = [0.0, 0.0, 0.0]
    assert driven.seen[-1] == pytest.approx([*idle * 7, 0.2, 0.0, 1 / 3, 0.0, 1.0, -0.5, 0.0, 1.0, 9.0])
    driven.interval(1, 1, [20])
    assert driven.controller.history[-1] == Interval(0.0, 1.0, 1.0)
    driven.interval(1, 1, [30])
    assert driven.controller.history[-1].latency_ratio == pytest.approx(1.5)


def test_a_path_without_delay_has_ratios() -> None:
    driven = Driven(1.0)
    driven.interval(5, 5, [0, 0])
    driven.interval(5, 5, [0, 0])
    assert driven.controller.history[-1] == Interval()


def test_what_the_application_holds_back_does_not_raise_the_rate() -> None:
    driven = Driven(4.0)
    driven.interval(5, 5, [50], limited=True)
    assert driven.controller.rate == 1e6
    driven.interval(5, 5, [50])
    assert driven.controller.rate == pytest.approx(1.1e6)


def test_a_policy_is_the_network_that_numpy_computes() -> None:
    chance = np.random.default_rng(3)
    numbers = chance.normal(0, 0.3, PARAMETERS)
    inputs = chance.normal(0, 1, SIZES[0])
    values, at = inputs, 0
    for size_in, size_out in itertools.pairwise(SIZES):
        weights = numbers[at : at + size_in * size_out].reshape(size_out, size_in)
        at += size_in * size_out
        values = weights @ values + numbers[at : at + size_out]
        at += size_out
        values = np.tanh(values) if size_out > 1 else values
    assert Policy.of_numbers(numbers.tolist()).action(inputs.tolist()) == pytest.approx(values[0], rel=1e-12)
    for wrong in (PARAMETERS - 1, PARAMETERS + 1):
        with pytest.raises(ValueError, match="numbers"):
            Policy.of_numbers([0.0] * wrong)


def damaged(change: Callable[[dict[str, Any]], object]) -> str:
    said = json.loads(FILE.read_text())
    change(said)
    return json.dumps(said)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        (FILE.read_text()[:5000], "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("\xff", "is not JSON"),
        ("[]", 'known is "aurora-policy" of version 1'),
        (damaged(lambda said: said.update(version=2)), 'known is "aurora-policy" of version 1'),
        (damaged(lambda said: said.update(format="remy-table")), 'known is "aurora-policy" of version 1'),
        (damaged(lambda said: said["layers"].pop()), "the policy must have 3 layers"),
        (damaged(lambda said: said.update(layers=7)), "the policy must have 3 layers"),
        (damaged(lambda said: said["layers"].__setitem__(1, None)), "layer 2 must have 16 rows of weights"),
        (damaged(lambda said: said["layers"][0]["weights"].pop()), "layer 1 must have 32 rows of weights"),
        (
            damaged(lambda said: said["layers"][1]["weights"][3].pop()),
            "each row of layer 2 must have 32 weights",
        ),
        (damaged(lambda said: said["layers"][2]["biases"].append(0.0)), "layer 3 must have 1 biases"),
        *(
            (
                damaged(lambda said, wrong=wrong: said["layers"][0]["biases"].__setitem__(0, wrong)),
                "a weight of layer 1 is no number from -1000 to 1000",
            )
            for wrong in (math.nan, math.inf, 1001, 10**400, "0.1", True, None)
        ),
        (" " * (2**20 + 1), "has more than 1048576 bytes"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "aurora.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(PolicyError, match=words) as raised:
        Policy.read(file)
    assert str(file) in str(raised.value)


def test_a_policy_survives_its_file(tmp_path: Path) -> None:
    policy = Policy.read(FILE)
    copy = tmp_path / "copy.json"
    copy.write_text(policy.text(seed=1))
    assert Policy.read(copy).layers == policy.layers
    with pytest.raises(PolicyError, match="cannot be read: No such file"):
        Policy.read(tmp_path / "none.json")


def placed(folder: Path) -> Path:
    folder.mkdir()
    for name in ("aurora.py", "aurora.json"):
        shutil.copy(FOLDER / name, folder)
    return folder


def test_a_trial_is_the_same_each_time_and_one_with_damaged_weights_fails(tmp_path: Path) -> None:
    folder = placed(tmp_path / "here")
    ours, again = (execute(folder, 'scheme = "python:aurora:Aurora"') for _ in range(2))
    assert (ours.status, ours.reason) == ("finished", None)
    first, second = packets_of(folder, ours), packets_of(folder, again)
    assert np.array_equal(first.time, second.time)
    assert np.array_equal(first.delay, second.delay)
    assert next(iter(ours.samples.values())).values.mean() > 8  # of 12 Mbit/s
    (folder / "aurora.json").write_text("{}")
    failed = execute(folder, 'scheme = "python:aurora:Aurora"')
    assert failed.status == "failed"
    assert 'aurora.json: known is "aurora-policy" of version 1' in str(failed.reason)


def test_a_silent_path_is_not_flooded() -> None:
    path = [("rate", "12Mbit/s"), ("outage", "fixed:on=2s,off=60s"), ("delay", "20ms")]
    packets = _core.simulate_path(
        [path], [[("delay", "20ms")]], [(Aurora, "bulk", "uplink", 0.0, 5.0)], directory=Path(), seed=1
    ).packets
    silent = (packets.direction == 0) & (packets.event > 1)
    assert 0 < silent.sum() < 200


def test_links_are_of_the_ranges_and_a_reward_is_what_it_says() -> None:
    links = [draw(1, number) for number in range(200)]
    assert links == [draw(1, number) for number in range(200)]
    for link in links:
        assert RATES[0] <= link.rate <= RATES[1]
        assert ROUND_TRIPS[0] <= link.round_trip <= ROUND_TRIPS[1]
        assert LOSSES[0] <= link.loss <= LOSSES[1]
        assert link.buffer <= max(BUFFERS[1] * link.rate * link.round_trip / 12_000 + 1, 2)
    assert draw(1, 7, 10.0).rate == pytest.approx(10 * draw(1, 7).rate)
    assert judged(0.9, 1.5, 0.01).reward == pytest.approx(9 - 1 - 0.2)
    # A constant half of the link, without a queue: half of it, a round trip of the empty path, the link's own loss.
    link = draw(1, 0)
    found = run(link, f"fixed_rate:rate={link.rate / 2:.0f}bit/s")
    assert found.share == pytest.approx(0.5, abs=0.03)
    assert found.delay == pytest.approx(1.0, abs=0.01)
    assert found.loss == pytest.approx(link.loss, abs=0.01)


def trainer() -> ModuleType:
    """The script, under a name that no other example has."""
    spec = importlib.util.spec_from_file_location("train_aurora", FOLDER / "train.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["train_aurora"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_policy_that_ships_is_worth_more_than_what_it_began_with_and_cubic() -> None:
    made = json.loads(FILE.read_text())["trained"]
    assert {"command", "seed", "generations", "minutes", "ranges", "reward", "best_reward"} <= made.keys()
    train = trainer()
    first = train.following(Policy.of_numbers(train.first_policy(1).tolist()))
    still = train.following(Policy.of_numbers([0.0] * PARAMETERS))
    links = [draw(77, number) for number in range(24)]
    ours, law, held, cubic = (
        np.mean([run(link, scheme).reward for link in links]) for scheme in (Aurora, first, still, "cubic")
    )
    assert ours > law > cubic > held


def command(*more: str) -> list[str]:
    words = [sys.executable, str(FOLDER / "train.py"), "policy.json", "--jobs", "1"]
    return [*words, "--pairs", "1", "--links", "1", "--generations", "3", *more]


def called(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*more), cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def test_a_training_that_is_killed_comes_to_the_same_policy(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    done = called(whole)
    assert done.returncode == 0, done.stderr
    assert "generation 3/3" in done.stderr
    assert "min left" in done.stderr
    state = parts / "policy.json.state"
    with subprocess.Popen(command(), cwd=parts, stderr=subprocess.DEVNULL) as first:
        until = time.monotonic() + 300
        while not state.exists() and time.monotonic() < until:
            time.sleep(0.01)
        first.kill()
    assert json.loads(state.read_text())["generation"] < 4  # whole, whenever the end came
    assert called(parts).returncode == 0
    policies = [json.loads((folder / "policy.json").read_text()) for folder in (whole, parts)]
    assert policies[0]["layers"] == policies[1]["layers"]
    assert policies[0]["trained"]["best_reward"] >= policies[0]["trained"]["first_reward"]
    refused = called(parts, "--seed", "2")
    assert refused.returncode == 1
    assert "is of a training with" in refused.stderr
    state.write_text(state.read_text()[:100])
    broken = called(parts)
    assert broken.returncode == 1
    assert "is not the state of a training" in broken.stderr


def packets(link: Link, congestion: object) -> list[np.ndarray]:
    """Time, delay, and what became of the packets of two flows over a link."""
    delay = ("delay", f"{link.round_trip / 2 * 1e6:.0f}us")
    rate, queue = ("rate", f"{link.rate:.0f}bit/s"), ("queue", f"droptail:packets={link.buffer}")
    found = _core.simulate_path(
        [[rate, delay, queue, ("loss", f"{link.loss * 100:.4f}%")]],
        [[delay]],
        [(congestion, "bulk", "uplink", 0.0, 4.0), (congestion, "bulk", "uplink", 1.0, 3.0)],
        directory=Path(),
        seed=link.seed,
    ).packets
    return [found.time_ns, found.delay_ns, found.flow, found.event]


def test_auroras_policy_for_rust_is_the_one_in_json(tmp_path: Path) -> None:
    assert trainer().onnx_of(FILE) == (SHIPPED / "aurora.onnx").read_bytes()
    shutil.copy(FILE, tmp_path)
    done = subprocess.run(
        [sys.executable, FOLDER / "train.py", tmp_path / "aurora.json", "--convert"], timeout=300, check=True
    )
    assert done.returncode == 0
    assert (tmp_path / "aurora.onnx").read_bytes() == (SHIPPED / "aurora.onnx").read_bytes()


def test_aurora_in_rust_comes_to_what_the_class_in_python_does() -> None:
    """The same but for the rounding of 32-bit floats, which moves packets by nanoseconds and then now and then past another."""
    for number in range(4):
        link = draw(5, number)
        ours, other = run(link, "aurora"), run(link, Aurora)
        assert ours.share == pytest.approx(other.share, abs=0.02)
        assert ours.delay == pytest.approx(other.delay, abs=0.02)
        assert ours.loss == pytest.approx(other.loss, abs=0.005)
    calm = Link(12e6, 0.05, 1000, 0.0, 1)
    mine, its = (packets(calm, what) for what in ("aurora", Aurora))
    first = min(len(mine[0]), len(its[0]), 500)
    assert np.abs(mine[0][:first] - its[0][:first]).max() < 10_000  # ns


def test_indigo_in_rust_sends_the_same_packets_as_the_class_in_python() -> None:
    policy = policy_of(weights_of(SHIPPED / "indigo.onnx"))
    for number in range(4):
        link = draw(5, number)
        ours, other = packets(link, "indigo"), packets(link, following(policy))
        assert all(np.array_equal(*pair) for pair in zip(ours, other, strict=True))
        assert len(ours[0]) > 100


def test_indigos_policy_survives_its_file(tmp_path: Path) -> None:
    policy = first_policy(3)
    file = tmp_path / "first.onnx"
    file.write_bytes(onnx_of(policy, {"seed": 3}))
    read = policy_of(weights_of(file))
    assert all(np.array_equal(*pair) for pair in zip(policy, read, strict=True))
    assert trained_of(file) == {"seed": 3}


def test_the_expert_takes_the_action_that_comes_nearest_to_a_full_link() -> None:
    # 12 Mbit/s over 30 ms are 30 packets; one is on its way out, and five are spare.
    assert wanted_window(Link(12e6, 0.03, 100, 0.0, 1)) == pytest.approx(36)
    assert wanted_window(Link(1e6, 0.036, 100, 0.0, 1)) == pytest.approx(5)
    for window, wanted, action in [
        (10, 36, 3),
        (20, 36, 4),
        (35, 36, 2),
        (50, 36, 1),
        (80, 36, 0),
        (2, 1, 0),
    ]:
        assert best_action(window, wanted) == action, window


def test_slopes_are_those_of_the_cross_entropy() -> None:
    chance = np.random.default_rng(1)
    lessons = [
        Lesson(chance.uniform(0, 0.3, (length, 9)), chance.integers(0, 5, length)) for length in (12, 7)
    ]
    batch = side_by_side(lessons)
    policy = first_policy(1)
    _, slope = slopes(policy, *batch)
    for part, found in enumerate(slope):
        direction = found / np.linalg.norm(found)
        beside = [
            slopes(policy._replace(**{policy._fields[part]: policy[part] + sign * 1e-2 * direction}), *batch)[
                0
            ]
            for sign in (1, -1)
        ]
        assert (beside[0] - beside[1]) / 2e-2 == pytest.approx(np.linalg.norm(found), rel=0.02)


def test_indigo_ships_a_policy_that_fills_the_link_of_the_paper_and_is_worth_more_than_cubic() -> None:
    made = trained_of(SHIPPED / "indigo.onnx")
    assert {"command", "seed", "rounds", "minutes", "ranges", "expert", "best_reward"} <= made.keys()
    paper = run(Link(12e6, 0.03, 300, 0.0, 1), "indigo")
    assert paper.share > 0.95
    assert paper.delay < 2
    links = [draw(77, number) for number in range(24)]
    ours, cubic = (np.mean([run(link, name).reward for link in links]) for name in ("indigo", "cubic"))
    assert ours > cubic


def test_indigos_training_comes_to_the_same_policy_each_time(tmp_path: Path) -> None:
    words = ["--rounds", "2", "--flows", "2", "--passes", "1", "--jobs", "1"]
    for name in ("one.onnx", "two.onnx"):
        done = subprocess.run(
            [sys.executable, FOLDER / "train_indigo.py", name, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        assert "round 2/2: cross entropy" in done.stderr
    one, two = (weights_of(tmp_path / name) for name in ("one.onnx", "two.onnx"))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert run(draw(1, 0), f"indigo:policy={tmp_path / 'one.onnx'}").share > 0


SCHEME = """
title = "Mine"
[loads]
bulk = "bulk"
[receiver]
command = "{{flow}} udp receive --port {{port}}"
[sender]
command = "{{flow}} udp send {{peer}} {{port}} --congestion indigo:policy={{folder}}/mine.onnx"
[simulated]
congestion = "indigo:policy={folder}/mine.onnx"
"""


def test_a_policy_in_a_schemes_folder_is_part_of_the_experiment(tmp_path: Path) -> None:
    folder = tmp_path / "schemes"
    folder.mkdir()
    (folder / "mine.toml").write_text(SCHEME)
    shutil.copy(SHIPPED / "indigo.onnx", folder / "mine.onnx")
    schemes = '[schemes]\nfolders = ["schemes"]'
    found = experiment(tmp_path, 'scheme = "mine"', schemes)
    names = {name for name, _ in kind_of(found).attachments(found, [{}])}
    assert names == {"schemes/mine.toml", "schemes/mine.onnx"}
    ours, shipped = execute(tmp_path, 'scheme = "mine"', schemes), execute(tmp_path, 'scheme = "udp-indigo"')
    assert np.array_equal(packets_of(folder, ours).time, packets_of(tmp_path, shipped).time)
    for file, said in [
        ("aurora.onnx", "makes 1 values of 30; wanted are 5 values of 9"),
        ("", "is no ONNX file"),
    ]:
        (folder / "mine.onnx").write_bytes((SHIPPED / file).read_bytes() if file else b"damaged")
        with pytest.raises(PlanError, match=said):
            execute(tmp_path, 'scheme = "mine"', schemes)


def test_the_files_that_a_class_names_are_part_of_the_experiment(tmp_path: Path) -> None:
    folder = placed(tmp_path / "here")
    found = experiment(folder, 'scheme = "python:aurora:Aurora"')
    names = {name for name, _ in kind_of(found).attachments(found, [{}])}
    assert names == {"schemes/aurora.py", "schemes/aurora.json"}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ('"aurora.json"', "files must be a tuple of names of files, not 'aurora.json'"),
        ("(1,)", "files must be a tuple"),
        ('("none.json",)', "none.json, which does not exist"),
        ('(".",)', "which does not exist"),
    ],
)
def test_what_a_class_names_must_be_files(tmp_path: Path, files: str, said: str) -> None:
    (tmp_path / "own.py").write_text(f"class Own:\n    files = {files}\n")
    for read in (python_scheme, lambda *words: files_of(class_named(*words), *words)):
        with pytest.raises(PlanError, match=said):
            read("python:own:Own", tmp_path)
