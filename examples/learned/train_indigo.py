"""Train a policy for `indigo:policy=FILE` by imitation, or judge one.

    python examples/learned/train_indigo.py mine.onnx --seed 1
    python examples/learned/train_indigo.py mine.onnx --judge   # or trialwise-1x, which ships

The expert knows the link: it wants the window that just fills it, and takes the action that comes nearest (DAgger: Ross, Gordon and
Bagnell, AISTATS 2011). In the first round it acts, in each later one the policy does, on links of their own; what the expert would
have done is added to what is learnt from. Kept is the policy with the best reward on other links. Links and reward are those of
`links.py`; 40 rounds take about eight minutes of one core.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any, cast

import numpy as np
from indigo import ACTIONS, INPUTS, UNITS, Indigo, Policy, changed
from judging import FIRST_CHECKED, Task, count, judge
from links import BUFFERS, LOSSES, PACKET, RATES, ROUND_TRIPS, SECONDS, Found, Link, draw, run
from networks import Floats, Node, network
from numpy.typing import NDArray

SPARE = 5.0, 0.25
"""What the expert wants beyond the packets that fill the link: so many, or such a share of them if that is less."""
CHECKED = 12
"""Links that the best is chosen on."""
KEPT_ROUNDS = 12
"""Rounds that are learnt from beside the first."""
BATCH = 16
PACE = 3e-3
LAST_PACE = 3e-4
MEAN_KEPT, SQUARE_KEPT = 0.9, 0.999
"""Adam's memory of slopes (Kingma and Ba, ICLR 2015)."""
LARGEST_SLOPE = 1.0
RIVALS = ("cubic", "vivace")


@dataclass(frozen=True, slots=True)
class Lesson:
    """A flow: what was seen at each step, and what the expert would have done."""

    seen: Floats
    wanted: NDArray[np.int64]


def wanted_window(link: Link) -> float:
    """Return the packets in flight that just fill a link, and a few more."""
    full = link.rate * link.round_trip / 8 / PACKET + 1
    return full + min(SPARE[0], SPARE[1] * full)


def best_action(window: float, wanted: float) -> int:
    """Return the action that comes nearest to the wanted window."""
    return min(range(len(ACTIONS)), key=lambda action: abs(changed(window, action) - wanted))


def following(policy: Policy) -> type[Indigo]:
    """Return Indigo with this policy."""
    return type("Following", (Indigo,), {"policy": policy})


def learner(policy: Policy | None, wanted: float, notes: list[tuple[Floats, int]]) -> type[Indigo]:
    """Return Indigo that notes what it saw and what the expert would do, and does that without a policy."""

    class Learner(Indigo):
        def decide(self, seen: Floats) -> int:
            best = best_action(self.packets, wanted)
            notes.append((seen, best))
            return best if policy is None else super().decide(seen)

    return type("Following", (Learner,), {"policy": policy})


def _lesson(task: tuple[Policy | None, int, int]) -> Lesson:
    policy, seed, number = task
    link = draw(seed, number)
    notes: list[tuple[Floats, int]] = []
    run(link, learner(policy, wanted_window(link), notes))
    seen, wanted = zip(*notes, strict=True)
    return Lesson(np.array(seen, np.float32), np.array(wanted))


def _found(task: Task) -> Found:
    what, seed, number, scale = task
    return run(draw(seed, number, scale), following(what) if isinstance(what, Policy) else what)


def first_policy(seed: int) -> Policy:
    """Return what a training begins with: inputs weigh so much that links of the training tell apart."""
    chance = np.random.default_rng([seed, 0])
    spread = 1 / math.sqrt(UNITS)
    shape = (4 * UNITS, UNITS)
    inputs = chance.normal(0, 1, (4 * UNITS, INPUTS)) * ([3.0, 10.0, 10.0, 30.0] + [spread] * len(ACTIONS))
    biases = np.zeros(4 * UNITS)
    biases[2 * UNITS : 3 * UNITS] = 1.0  # remember
    parts = (inputs, chance.uniform(-spread, spread, shape), biases)
    last = chance.uniform(-spread, spread, (len(ACTIONS), UNITS)), np.zeros(len(ACTIONS))
    return Policy(*(part.astype(np.float32) for part in (*parts, *last)))


def _sigmoid(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(values, -60, 60)))


def slopes(
    policy: Policy, seen: Floats, wanted: NDArray[np.int64], counts: Floats
) -> tuple[float, list[Floats]]:
    """Return the mean cross entropy of flows side by side (steps, flows, inputs), and its slope by each part of the policy.

    Parameters
    ----------
    counts
        1 for each step of a flow that counts, 0 for those beyond its end; of shape (steps, flows).
    """
    steps, flows, _ = seen.shape
    entries = seen @ policy.inputs.T + policy.biases
    gates = np.empty_like(entries)
    cells, hidden = np.zeros((2, steps + 1, flows, UNITS), np.float32)
    bent = np.empty((steps, flows, UNITS), np.float32)
    recurrent = np.ascontiguousarray(policy.hidden.T)
    for at in range(steps):
        now = entries[at] + hidden[at] @ recurrent
        gates[at, :, : 3 * UNITS] = _sigmoid(now[:, : 3 * UNITS])
        gates[at, :, 3 * UNITS :] = np.tanh(now[:, 3 * UNITS :])
        entry, exit_, keep, cell = np.split(gates[at], 4, axis=1)
        cells[at + 1] = keep * cells[at] + entry * cell
        bent[at] = np.tanh(cells[at + 1])
        hidden[at + 1] = exit_ * bent[at]
    scores = hidden[1:] @ policy.scores.T + policy.score_biases
    scores -= scores.max(axis=2, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(axis=2, keepdims=True))
    total = counts.sum()
    loss = -float((np.take_along_axis(logs, wanted[..., None], 2)[..., 0] * counts).sum() / total)
    by_score = np.exp(logs)
    np.put_along_axis(by_score, wanted[..., None], np.take_along_axis(by_score, wanted[..., None], 2) - 1, 2)
    by_score *= (counts / total)[..., None]
    by_output = by_score @ policy.scores
    by_gates = np.empty_like(gates)
    by_hidden, by_cell = np.zeros((2, flows, UNITS), np.float32)
    for at in reversed(range(steps)):
        entry, exit_, keep, cell = np.split(gates[at], 4, axis=1)
        by_hidden = by_hidden + by_output[at]
        by_cell = by_cell + by_hidden * exit_ * (1 - bent[at] ** 2)
        by_gates[at, :, :UNITS] = by_cell * cell * entry * (1 - entry)
        by_gates[at, :, UNITS : 2 * UNITS] = by_hidden * bent[at] * exit_ * (1 - exit_)
        by_gates[at, :, 2 * UNITS : 3 * UNITS] = by_cell * cells[at] * keep * (1 - keep)
        by_gates[at, :, 3 * UNITS :] = by_cell * entry * (1 - cell**2)
        by_cell = by_cell * keep
        by_hidden = by_gates[at] @ policy.hidden
    flat = by_gates.reshape(-1, 4 * UNITS)
    score = by_score.reshape(-1, len(ACTIONS))
    return loss, [
        flat.T @ seen.reshape(-1, INPUTS),
        flat.T @ hidden[:-1].reshape(-1, UNITS),
        flat.sum(axis=0),
        score.T @ hidden[1:].reshape(-1, UNITS),
        score.sum(axis=0),
    ]


def side_by_side(lessons: Sequence[Lesson]) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return flows side by side, with 1 where there is a step and 0 beyond the end of a flow."""
    shape = max(len(lesson.wanted) for lesson in lessons), len(lessons)
    seen, counts = np.zeros((*shape, INPUTS), np.float32), np.zeros(shape, np.float32)
    wanted = np.zeros(shape, np.int64)
    for at, lesson in enumerate(lessons):
        length = len(lesson.wanted)
        seen[:length, at], wanted[:length, at], counts[:length, at] = lesson.seen, lesson.wanted, 1
    return seen, wanted, counts


class Adam:
    """Moves a policy against slopes."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._mean = [np.zeros_like(part) for part in policy]
        self._square = [np.zeros_like(part) for part in policy]
        self._count = 0

    def move(self, slope: Sequence[Floats], pace: float) -> None:
        """Take a step."""
        self._count += 1
        length = math.sqrt(sum(float((part**2).sum()) for part in slope))
        scale = min(1.0, LARGEST_SLOPE / length) if length else 0.0
        parts: list[Floats] = []
        for at, part in enumerate(self.policy):
            now = scale * slope[at]
            self._mean[at] = MEAN_KEPT * self._mean[at] + (1 - MEAN_KEPT) * now
            self._square[at] = SQUARE_KEPT * self._square[at] + (1 - SQUARE_KEPT) * now**2
            mean = self._mean[at] / (1 - MEAN_KEPT**self._count)
            square = self._square[at] / (1 - SQUARE_KEPT**self._count)
            parts.append((part - pace * mean / (np.sqrt(square) + 1e-8)).astype(np.float32))
        self.policy = Policy(*parts)


def train(seed: int, rounds: int, flows: int, passes: int, pool: Pool) -> tuple[Policy, dict[str, object]]:
    """Return the best policy of a training, and how it was made."""
    began = time.monotonic()
    adam, best_reward, best_round = Adam(first_policy(seed)), -math.inf, 0
    best = adam.policy
    lessons: list[list[Lesson]] = []
    for number in range(rounds):
        acting = adam.policy if number else None
        tasks = [(acting, seed, link) for link in range(number * flows, (number + 1) * flows)]
        lessons.append(pool.map(_lesson, tasks, chunksize=1))
        chance = np.random.default_rng([seed, number + 1])
        kept = lessons[:1] + lessons[1:][-KEPT_ROUNDS:]
        known = [lesson for each in kept for lesson in each]
        pace = PACE * (LAST_PACE / PACE) ** (number / max(rounds - 1, 1))
        losses: list[float] = []
        for _ in range(passes):
            order = cast("list[int]", chance.permutation(len(known)).tolist())
            for at in range(0, len(order), BATCH):
                loss, slope = slopes(
                    adam.policy, *side_by_side([known[each] for each in order[at : at + BATCH]])
                )
                adam.move(slope, pace)
                losses.append(loss)
        checked = [(adam.policy, seed, FIRST_CHECKED + link, 1.0) for link in range(CHECKED)]
        means = np.mean(pool.map(_found, checked, chunksize=1), axis=0)
        reward = float(means[0])
        if reward > best_reward:
            best, best_reward, best_round = adam.policy, reward, number + 1
        taken = time.monotonic() - began
        left = taken / (number + 1) * (rounds - number - 1) / 60
        print(
            f"round {number + 1}/{rounds}: cross entropy {np.mean(losses):.3f}, reward {reward:.3f}"
            f" (best {best_reward:.3f}), share {means[1]:.3f}, delay {means[2]:.2f}, {left:.1f} min left",
            file=sys.stderr,
            flush=True,
        )
    command = f"python examples/learned/train_indigo.py FILE --seed {seed} --rounds {rounds} --flows {flows} --passes {passes}"
    return best, {
        "command": command,
        "seed": seed,
        "rounds": rounds,
        "best_round": best_round,
        "best_reward": round(best_reward, 3),
        "minutes": round((time.monotonic() - began) / 60, 1),
        "expert": f"the window that fills the link, and {SPARE[0]:g} packets or {SPARE[1]:g} of it more",
        "ranges": {
            "rate_bps": RATES,
            "round_trip_s": ROUND_TRIPS,
            "buffer_bdp": BUFFERS,
            "loss": LOSSES,
            "seconds": SECONDS,
        },
    }


def onnx_of(policy: Policy, trained: dict[str, object]) -> bytes:
    """Return a policy as the file that `indigo:policy=FILE` reads: one step of the LSTM, whose state goes in and comes out."""
    state = [1, 1, UNITS]
    nodes = [
        Node(
            "LSTM",
            ["seen", "inputs", "hidden", "biases", "", "before", "cells_before"],
            ["", "after", "cells_after"],
            {"hidden_size": UNITS},
        ),
        Node("Squeeze", ["after"], ["units"], {}),
        Node("MatMul", ["units", "scores"], ["weighed"], {}),
        Node("Add", ["weighed", "score_biases"], ["actions"], {}),
    ]
    weights = {
        "inputs": policy.inputs[None],
        "hidden": policy.hidden[None],
        "biases": np.concatenate([policy.biases, np.zeros_like(policy.biases)])[None],
        "scores": policy.scores.T,
        "score_biases": policy.score_biases,
    }
    inputs = {"seen": [1, 1, INPUTS], "before": state, "cells_before": state}
    outputs = {"actions": [len(ACTIONS)], "after": state, "cells_after": state}
    return network(nodes, weights, inputs, outputs, trained)


def policy_of(weights: dict[str, Floats]) -> Policy:
    """Return the policy of the tensors of such a file."""
    biases = weights["biases"][0].reshape(2, -1).sum(axis=0)
    return Policy(
        weights["inputs"][0], weights["hidden"][0], biases, weights["scores"].T, weights["score_biases"]
    )


def main() -> None:
    """Train a policy, or judge one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="the policy; to judge, also the name of one that ships")
    parser.add_argument("--judge", action="store_true", help="train nothing: print what the policy comes to")
    parser.add_argument("--draws", type=count, default=30, help="links of each set that is judged on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=count, default=40)
    parser.add_argument("--flows", type=count, default=16, help="flows of a round")
    parser.add_argument("--passes", type=count, default=4, help="how often a round goes through what is kept")
    parser.add_argument("--jobs", type=count, default=os.cpu_count())
    given: Any = parser.parse_args()
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        if given.judge:
            schemes = {"indigo": f"indigo:policy={given.file}"} | {f"udp-{name}": name for name in RIVALS}
            judge(schemes, _found, given.draws, pool)
            return
        policy, trained = train(given.seed, given.rounds, given.flows, given.passes, pool)
    new = given.file.with_name(given.file.name + ".new")
    new.write_bytes(onnx_of(policy, trained))
    new.replace(given.file)


if __name__ == "__main__":
    main()
