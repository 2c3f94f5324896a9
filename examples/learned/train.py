"""Train a policy for `aurora.py` by evolution strategies, or judge one.

    python examples/learned/train.py mine.json --seed 1 --generations 100
    python examples/learned/train.py mine.json --judge
    python examples/learned/train.py mine.json --convert

Each generation draws six links (1 to 20 Mbit/s, 20 to 100 ms, a buffer of 0.5 to 4 bandwidth-delay products, up to 1 % random
loss) and tries 32 policies on each: the present one with 16 random changes, added and subtracted. Kept is the best, on 24 links of
their own, of the policies at every tenth generation; it is written as FILE, and beside it as ONNX for `aurora:policy=`. A generation
takes three seconds of processor time: 100 take three minutes on two idle cores. The state is kept in FILE.state: the same command
goes on after an interruption, and comes to the same policy as without one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.pool import Pool
from pathlib import Path
from typing import cast

import numpy as np
from aurora import FILE, HISTORY, SIZES, Aurora, Interval, Policy
from judging import FIRST_CHECKED, Task, count, judge
from links import BUFFERS, DELAY, LOSS, LOSSES, RATES, ROUND_TRIPS, SECONDS, SHARE, Found, draw, run
from networks import Node, network
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

CHECK_EVERY = 10
CHECKED = 4
"""How many times more links the best is chosen on than a generation has."""
PACE = 0.15
"""How many standard deviations of the changes a generation moves, at most about."""
MEAN_KEPT, SQUARE_KEPT = 0.9, 0.99
"""Adam's memory of slopes (Kingma and Ba, ICLR 2015)."""
DIGITS = 6
RIVALS = ("cubic", "vivace")


def parameters() -> int:
    """Return how many weights and biases a policy has."""
    return sum((inputs + 1) * outputs for inputs, outputs in itertools.pairwise(SIZES))


def spreads() -> Numbers:
    """Return the standard deviation of changes, weight by weight: less where a sum has more terms."""
    parts = [
        np.full((inputs + 1) * outputs, 0.3 if outputs == 1 else 0.1 / math.sqrt(inputs))
        for inputs, outputs in itertools.pairwise(SIZES)
    ]
    return np.concatenate(parts)


def first_policy(seed: int) -> Numbers:
    """Return what a training begins with: a law by hand in one unit of each layer, and others that are drawn but not listened to.

    The law answers the newest interval's delay: 14 % more without a queue, less from a round trip of 1.15 times the least on.
    """
    chance = np.random.default_rng([seed, 0])
    inputs, first, second, _ = SIZES
    one = chance.normal(0.0, 0.5 / math.sqrt(inputs), (first, inputs))
    one[0] = 0.0
    one[0, -3:] = 4.0, 4.0, 0.0
    two = chance.normal(0.0, 0.5 / math.sqrt(first), (second, first))
    two[0] = 0.0
    two[0, 0] = 2.0
    three = np.zeros(second)
    three[0] = -6.0
    biases = np.zeros(first)
    biases[0] = -0.6
    return np.concatenate([one.ravel(), biases, two.ravel(), np.zeros(second), three, [0.0]])


@dataclass(slots=True)
class State:
    """Everything that a training needs to go on."""

    arguments: dict[str, int]
    """Seed, pairs of policies and links of each generation."""
    now: list[float]
    mean: list[float] = field(default_factory=lambda: [0.0] * parameters())
    square: list[float] = field(default_factory=lambda: [0.0] * parameters())
    generation: int = 0
    best: list[float] = field(default_factory=list[float])
    first_reward: float | None = None
    best_reward: float | None = None
    best_generation: int = 0
    seconds: float = 0.0

    def save(self, path: Path) -> None:
        """Write the state whole or not at all."""
        write(path, json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path, arguments: dict[str, int]) -> State:
        """Return the state in a file, or a first one if there is none; exit if it is of other arguments or cannot be read."""
        if not path.exists():
            return cls(arguments, first_policy(arguments["seed"]).tolist())
        try:
            kept = cls(**json.loads(path.read_bytes()))
            wrong = {len(each) for each in (kept.now, kept.mean, kept.square)} != {parameters()}
        except (ValueError, TypeError) as error:
            sys.exit(f"{path} is not the state of a training ({error}): delete it")
        if wrong or kept.arguments != arguments:
            sys.exit(f"{path} is of a training with {kept.arguments}: delete it, or give the same")
        return kept


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    new = path.with_name(path.name + ".new")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def following(policy: Policy) -> type[Aurora]:
    """Return Aurora with this policy instead of that of its file."""
    return type("Following", (Aurora,), {"policy": policy})


def _found(task: Task) -> Found:
    what, seed, number, scale = task
    congestion = (
        what if isinstance(what, str) else following(Policy.of_numbers(cast("Sequence[float]", what)))
    )
    return run(draw(seed, number, scale), congestion)


def _rewards(pool: Pool, policies: Sequence[Sequence[float]], seed: int, numbers: range) -> Numbers:
    """Return the mean reward of each policy on the same links."""
    tasks = [(policy, seed, number, 1.0) for policy in policies for number in numbers]
    found = pool.map(_found, tasks, chunksize=len(numbers))
    return np.array([each.reward for each in found]).reshape(len(policies), len(numbers)).mean(axis=1)


def improve(state: State, pool: Pool) -> float:
    """Go through a generation; return the mean reward of its policies."""
    generation = state.generation + 1
    seed, pairs, links = (state.arguments[name] for name in ("seed", "pairs", "links"))
    chance = np.random.default_rng([seed, generation])
    changes = chance.standard_normal((pairs, parameters()))
    spread, now = spreads(), np.array(state.now)
    policies = [(now + sign * spread * change).tolist() for change in changes for sign in (1, -1)]
    rewards = _rewards(pool, policies, seed, range(state.generation * links, generation * links))
    ranks = np.argsort(np.argsort(rewards, kind="stable"), kind="stable") / (len(rewards) - 1) - 0.5
    slope = np.zeros(parameters())
    for change, better, worse in zip(changes, ranks[::2], ranks[1::2], strict=True):
        slope += (better - worse) / pairs * change
    mean = MEAN_KEPT * np.array(state.mean) + (1 - MEAN_KEPT) * slope
    square = SQUARE_KEPT * np.array(state.square) + (1 - SQUARE_KEPT) * slope * slope
    step = mean / (1 - MEAN_KEPT**generation) / (np.sqrt(square / (1 - SQUARE_KEPT**generation)) + 1e-8)
    state.now = (now + PACE * spread * step).tolist()
    state.mean, state.square, state.generation = mean.tolist(), square.tolist(), generation
    return float(rewards.mean())


def check(state: State, pool: Pool) -> None:
    """Keep the policy if it is the best so far."""
    policy = [round(value, DIGITS) for value in state.now]
    numbers = range(FIRST_CHECKED, FIRST_CHECKED + CHECKED * state.arguments["links"])
    (reward,) = _rewards(pool, [policy], state.arguments["seed"], numbers).tolist()
    if state.first_reward is None:
        state.first_reward = reward
    if state.best_reward is None or reward > state.best_reward:
        state.best, state.best_reward, state.best_generation = policy, reward, state.generation


def train(state: State, generations: int, minutes: float, pool: Pool, path: Path) -> None:
    """Train until the generations or the minutes of this call are over, and save the state after each generation."""
    began = time.monotonic()
    before, done = state.seconds, state.generation
    if state.best_reward is None:
        check(state, pool)
        state.save(path)
    while state.generation < generations and time.monotonic() - began < 60 * minutes:
        reward = improve(state, pool)
        if state.generation % CHECK_EVERY == 0 or state.generation == generations:
            check(state, pool)
        taken = time.monotonic() - began
        state.seconds = before + taken
        state.save(path)
        left = min(taken / (state.generation - done) * (generations - state.generation), 60 * minutes - taken)
        print(
            f"generation {state.generation}/{generations}: reward {reward:.3f}, best {state.best_reward:.3f}"
            f" (first {state.first_reward:.3f}), {max(left, 0.0) / 60:.1f} min left",
            file=sys.stderr,
            flush=True,
        )


def trained(state: State) -> dict[str, object]:
    """Return how a policy was made."""
    words = " ".join(f"--{name} {value}" for name, value in state.arguments.items())
    return {
        "command": f"python examples/learned/train.py FILE {words} --generations {state.generation}",
        **state.arguments,
        "generations": state.generation,
        "best_generation": state.best_generation,
        "minutes": round(state.seconds / 60, 1),
        "reward": f"{SHARE:g} share of the link - {DELAY:g} (round trip / base - 1) - {LOSS:g} loss",
        "first_reward": state.first_reward,
        "best_reward": state.best_reward,
        "ranges": {
            "rate_bps": RATES,
            "round_trip_s": ROUND_TRIPS,
            "buffer_bdp": BUFFERS,
            "loss": LOSSES,
            "seconds": SECONDS,
        },
    }


def rivals(file: Path) -> dict[str, object]:
    """Return what to judge: the policy, the law that a training begins with, no law, and other schemes."""
    return {
        "aurora": numbers_of(Policy.read(file)),
        "its first law": first_policy(1).tolist(),
        "constant rate": [0.0] * parameters(),
        **{f"udp-{name}": name for name in RIVALS},
    }


def onnx_of(file: Path) -> bytes:
    """Return the policy in a file as `aurora:policy=FILE` reads it: the same network, which subtracts what an empty path has."""
    policy, trained = Policy.read(file), json.loads(file.read_bytes())["trained"]
    path = np.array([[*Interval()] * HISTORY], np.float32)
    nodes, weights = [Node("Sub", ["seen", "path"], ["values_0"], {})], {"path": path}
    for number, layer in enumerate(policy.layers, 1):
        names = f"weights_{number}", f"biases_{number}"
        weights |= {name: np.array(values, np.float32) for name, values in zip(names, layer, strict=True)}
        hidden = number < len(policy.layers)
        made = f"sums_{number}" if hidden else "action"
        nodes.append(Node("Gemm", [f"values_{number - 1}", *names], [made], {"transB": 1}))
        if hidden:
            nodes.append(Node("Tanh", [made], [f"values_{number}"], {}))
    return network(nodes, weights, {"seen": [1, SIZES[0]]}, {"action": [1, 1]}, trained)


def numbers_of(policy: Policy) -> list[float]:
    """Return all weights and biases in a row, layer by layer."""
    return [value for weights, biases in policy.layers for row in (*weights, biases) for value in row]


def main() -> None:
    """Train a policy, go on with it, or judge it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "file", type=Path, nargs="?", default=FILE, help="the policy, %(default)s if not given"
    )
    parser.add_argument("--judge", action="store_true", help="train nothing: print what the policy comes to")
    parser.add_argument("--convert", action="store_true", help="train nothing: write the policy as ONNX file")
    parser.add_argument("--draws", type=count, default=30, help="links of each set that is judged on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--pairs", type=count, default=16, help="changes that a generation tries, added and subtracted"
    )
    parser.add_argument("--links", type=count, default=6, help="links of a generation")
    parser.add_argument("--generations", type=count, default=100, help="in all, with those of earlier calls")
    parser.add_argument("--minutes", type=float, default=60.0, help="end this call after so long")
    parser.add_argument("--jobs", type=count, default=os.cpu_count())
    given = parser.parse_args()
    if given.convert:
        given.file.with_suffix(".onnx").write_bytes(onnx_of(given.file))
        return
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        if given.judge:
            judge(rivals(given.file), _found, given.draws, pool)
            return
        path = given.file.with_name(given.file.name + ".state")
        arguments = {name: getattr(given, name) for name in ("seed", "pairs", "links")}
        state = State.load(path, arguments)
        try:
            train(state, given.generations, given.minutes, pool, path)
        except KeyboardInterrupt:
            sys.exit(f"broken off after {state.generation} generations: the same command goes on")
    write(given.file, Policy.of_numbers(state.best).text(**trained(state)))
    given.file.with_suffix(".onnx").write_bytes(onnx_of(given.file))
    print(f"{given.file}: reward {state.best_reward:.3f}, {state.first_reward:.3f} at first", file=sys.stderr)


if __name__ == "__main__":
    main()
