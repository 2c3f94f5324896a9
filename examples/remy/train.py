"""Train a table of rules for the congestion control `remy`, in Remy's way (Winstein and Balakrishnan, SIGCOMM 2013, section 4.3).

The most used rule that is not settled is changed in steps, on the same networks each time, and keeps what is worth most; when no step
is worth more, it is settled. When all are, the most used rule is divided at the medians of what it was asked for, and all begin anew.
The same arguments give the same table on every machine, however often the training is broken off and continued.

    python examples/remy/train.py TABLE.json --seed 1 --evaluations 3000
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from tables import END, MEMORY, Memory, Rule, Watched, rules_of, text_of, write

from worlds import BUFFERS, MEAN_PERIOD, RATES, ROUND_TRIPS, SECONDS, Network, draw, worth

MULTIPLES = (0.01, 0.05, 0.2)
INCREMENTS = (1.0, 4.0, 16.0)
GAPS = (1.25, 2.0, 4.0)
"""Steps of the three numbers of a rule, either way; those of the gap are factors."""
FIRST = ((0.5, 1.0, 10.0), (1.1, 1.0, 1.0), (1.5, 1.0, 0.0), (2.5, 0.97, 0.0), (END, 0.9, 0.0))
"""The rules of the first table: up to which round trip over the least each is meant, its multiple and its increment.

A flow begins with ten packets (RFC 6928), grows by one for each packet while there is no queue, and shrinks when there is a long one.
From a single rule the search came to a window that never changes.
"""
LEAST_GAIN = 1e-4
DIVIDED = 3
"""Axes along which a rule is divided: all but the slow average."""


def first_rules() -> list[Rule]:
    """Return the rules that a training begins with."""
    rules, rest = list[Rule](), Rule(gap_ms=0.1)
    for ratio, multiple, increment in FIRST:
        part, rest = rest.halves(MEMORY.index("rtt_ratio"), ratio)
        rules.append(replace(part, window_multiple=multiple, window_increment=increment))
    return rules


@dataclass(slots=True)
class State:
    """Everything that a training needs to go on."""

    arguments: dict[str, float]
    rules: list[Rule] = field(default_factory=first_rules)
    value: float | None = None
    settled: list[bool] = field(default_factory=lambda: [False] * len(first_rules()))
    uses: list[int] = field(default_factory=list[int])
    """Of each rule since rules were divided last."""
    evaluations: int = 0
    seconds: float = 0.0

    def save(self, path: Path) -> None:
        """Write the state whole or not at all."""
        write(path, json.dumps(asdict(self) | {"rules": text_of(self.rules)}))

    @classmethod
    def load(cls, path: Path, arguments: dict[str, float]) -> State:
        """Return the state in a file, or a first one if there is no file; exit if it is of a training with other arguments."""
        if not path.exists():
            return cls(arguments)
        kept = json.loads(path.read_text())
        same = {**arguments, "evaluations": 0} == {**kept["arguments"], "evaluations": 0}
        if not same:
            sys.exit(f"{path} is of a training with {kept['arguments']}: delete it, or give the same")
        return cls(**kept | {"rules": rules_of(kept["rules"]), "arguments": arguments})


class Bench:
    """Processes that evaluate tables on the same networks."""

    def __init__(self, arguments: dict[str, float], jobs: int) -> None:
        self._networks = [
            draw(int(arguments["seed"]), number) for number in range(int(arguments["networks"]))
        ]
        self._delta = arguments["delta"]
        self._pool = multiprocessing.get_context("spawn").Pool(jobs)

    def values(self, tables: Sequence[Sequence[Rule]]) -> list[float]:
        """Return what each table is worth on average."""
        tasks = [(text_of(rules), network, self._delta) for rules in tables for network in self._networks]
        found = self._pool.map(_value, tasks, chunksize=2)
        count = len(self._networks)
        return [sum(found[first : first + count]) / count for first in range(0, len(found), count)]

    def asked(self, rules: Sequence[Rule]) -> list[list[Memory]]:
        """Return for what each rule was asked."""
        asked: list[list[Memory]] = [[] for _ in rules]
        for seen in self._pool.map(_seen, [(rules, network) for network in self._networks], chunksize=1):
            for number, memory in seen:
                asked[number].append(memory)
        return asked


def _value(task: tuple[str, Network, float]) -> float:
    text, network, delta = task
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        return worth(network, f"remy:table={file.name}", delta)


def _seen(task: tuple[Sequence[Rule], Network]) -> list[tuple[int, Memory]]:
    rules, network = task
    controller = Watched.following(rules)
    worth(network, controller)
    return controller.seen


def steps(rule: Rule) -> list[Rule]:
    """Return the rules that differ from this one by a step."""
    found: list[Rule] = []
    for step, sign in itertools.product(MULTIPLES, (1, -1)):
        found.append(replace(rule, window_multiple=_within(rule.window_multiple + sign * step, 0.0, 2.0)))
    for step, sign in itertools.product(INCREMENTS, (1, -1)):
        found.append(
            replace(rule, window_increment=_within(rule.window_increment + sign * step, -256.0, 256.0))
        )
    for factor, sign in itertools.product(GAPS, (1, -1)):
        found.append(replace(rule, gap_ms=_within(rule.gap_ms * factor**sign, 0.01, 1000.0)))
    return [step for step in found if step != rule and (step.window_increment >= 1 or any(step.low))]


def _within(value: float, least: float, most: float) -> float:
    return round(min(max(value, least), most), 4)


def improve(state: State, bench: Bench, number: int) -> None:
    """Take the best step of a rule, or settle it."""
    tables = [
        [*state.rules[:number], step, *state.rules[number + 1 :]] for step in steps(state.rules[number])
    ]
    values = bench.values(tables)
    state.evaluations += len(tables)
    best = max(range(len(values)), key=values.__getitem__)
    if state.value is None or values[best] > state.value + LEAST_GAIN:
        state.rules, state.value = tables[best], values[best]
    else:
        state.settled[number] = True


def divide(state: State, asked: Sequence[Sequence[Memory]]) -> None:
    """Divide the most used rule, and let all rules begin anew."""
    for number in sorted(range(len(asked)), key=lambda number: -len(asked[number])):
        if not asked[number]:
            break
        medians = np.median(np.array(asked[number]), axis=0)[:DIVIDED]
        parts = state.rules[number].divided([float(f"{median:.4g}") for median in medians])
        if len(parts) > 1:
            state.rules[number : number + 1] = parts
            break
    state.settled = [False] * len(state.rules)


def train(state: State, bench: Bench, path: Path) -> None:
    """Train until as many tables have been evaluated as were asked for, and save the state after each step."""
    began = time.monotonic() - state.seconds
    most = int(state.arguments["evaluations"])
    if state.value is None:
        (state.value,) = bench.values([state.rules])
        state.uses = [len(memories) for memories in bench.asked(state.rules)]
    while state.evaluations < most:
        waiting = [
            number for number, settled in enumerate(state.settled) if not settled and state.uses[number]
        ]
        if waiting:
            improve(state, bench, max(waiting, key=lambda number: (state.uses[number], -number)))
        else:
            divide(state, bench.asked(state.rules))
            state.uses = [len(memories) for memories in bench.asked(state.rules)]
        state.seconds = time.monotonic() - began
        state.save(path)
        left = state.seconds / max(state.evaluations, 1) * (most - state.evaluations)
        said = f"{state.evaluations}/{most} tables, {len(state.rules)} rules, worth {state.value:.4f}, {left / 60:.0f} min left"
        print(
            f"\r{said}   " if sys.stderr.isatty() else said,
            end="" if sys.stderr.isatty() else "\n",
            file=sys.stderr,
        )


def main() -> None:
    """Train a table, or go on with it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "table", type=Path, help="where the table is written; the state of the training is kept beside it"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--evaluations", type=int, default=3000, help="tables that are evaluated in all")
    parser.add_argument("--networks", type=int, default=16, help="networks on which each table is evaluated")
    parser.add_argument("--delta", type=float, default=1.0, help="what a delay costs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    arguments = {name: getattr(given, name) for name in ("seed", "evaluations", "networks", "delta")}
    path = given.table.with_name(given.table.name + ".state")
    state = State.load(path, arguments)
    try:
        train(state, Bench(arguments, given.jobs), path)
    except KeyboardInterrupt:
        sys.exit(f"broken off after {state.evaluations} tables: the same command goes on")
    write(given.table, text_of(state.rules, trained(state)))
    print(f"{given.table}: {len(state.rules)} rules, worth {state.value:.4f}", file=sys.stderr)


def trained(state: State) -> dict[str, object]:
    """Return how the table was made."""
    words = " ".join(f"--{name} {value:g}" for name, value in state.arguments.items())
    return {
        "command": f"python examples/remy/train.py TABLE.json {words}",
        "seed": state.arguments["seed"],
        "objective": f"sum over senders of log(throughput / fair share) - {state.arguments['delta']:g} log(delay / base)",
        "scenarios": {
            "networks": state.arguments["networks"],
            "seconds": SECONDS,
            "rate_bps": RATES,
            "round_trip_s": ROUND_TRIPS,
            "buffer_bdp": BUFFERS,
            "senders": [1, 2],
            "mean_on_off_s": MEAN_PERIOD,
        },
        "worth": round(state.value or 0.0, 4),
        "hours": round(state.seconds / 3600, 2),
    }


if __name__ == "__main__":
    main()
