"""Aurora (Jay and others, A Deep Reinforcement Learning Perspective on Internet Congestion Control, ICML 2019).

Scheme `python:aurora:Aurora`. Each interval of about a round trip gives three numbers. A network of three layers sees those of the
last ten intervals and says by how much the rate changes. Its weights are in `aurora.json` beside this file, made by `train.py`.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import deque
from collections.abc import Iterator, Sequence
from operator import mul
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeAlias, cast

from trialwise._core import AcknowledgementEvent, ControllerContext, LossEvent, SentEvent, TimeoutEvent

Layer: TypeAlias = tuple[Sequence[Sequence[float]], Sequence[float]]
"""Rows of weights, one for each output, and a bias for each output."""
FILE = Path(__file__).with_name("aurora.json")
HISTORY = 10
"""Intervals that the policy sees."""
SIZES = (3 * HISTORY, 32, 16, 1)
"""Inputs, two hidden layers, and the action."""
STEP = 0.025
"""What an action of 1 changes."""
STRONGEST = 40.0
"""An action that doubles or halves the rate; a stronger one counts as this."""
FIRST_RATE, LEAST_RATE, MOST_RATE = 1e6, 64e3, 1e9
"""Bit/s."""
LARGEST_WEIGHT = 1000.0
LARGEST_FILE = 2**20
"""Bytes."""
FIRST_WAIT_PS = 10**11
LEAST_PACKETS = 4
"""An interval is at least as long as these take at the rate."""
FIRST_PACKETS = 10
"""What may be in flight before a round trip is known (RFC 6928)."""
MOST = 10.0
"""Bound of the ratios."""


class PolicyError(ValueError):
    """A file of weights that cannot be used."""


class Interval(NamedTuple):
    """What one interval says; the values are those of a path without a queue."""

    latency_gradient: float = 0.0
    """Change of the round-trip time over the duration: mean of the later half less that of the earlier one."""
    latency_ratio: float = 1.0
    """Mean round-trip time over the least mean of any interval so far."""
    send_ratio: float = 1.0
    """Bytes sent over bytes acknowledged."""

    def deviation(self) -> tuple[float, float, float]:
        """Return how far each is from a path without a queue."""
        return self.latency_gradient, self.latency_ratio - 1.0, self.send_ratio - 1.0


class Policy:
    """A network whose hidden layers go through tanh; sums are exactly rounded, so that they are the same on every machine."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = layers

    def action(self, inputs: Sequence[float]) -> float:
        """Return the action for the inputs, oldest interval first."""
        values = inputs
        for weights, biases in self.layers[:-1]:
            values = [
                math.tanh(math.fsum(map(mul, row, values)) + bias)
                for row, bias in zip(weights, biases, strict=True)
            ]
        ((row,), (bias,)) = self.layers[-1]
        return math.fsum(map(mul, row, values)) + bias

    @classmethod
    def of_numbers(cls, numbers: Sequence[float]) -> Policy:
        """Return the policy of all weights and biases in a row, layer by layer; raise ValueError if there are too few or too many."""
        rest = iter(numbers)
        layers = [
            ([_taken(rest, inputs) for _ in range(outputs)], _taken(rest, outputs))
            for inputs, outputs in itertools.pairwise(SIZES)
        ]
        if next(rest, None) is not None:
            raise ValueError("too many numbers")
        return cls(layers)

    @classmethod
    def read(cls, path: Path) -> Policy:
        """Return the policy in a file.

        Raises
        ------
        PolicyError
            The file is missing, too large, no JSON, of another format, version or size, or a weight is no number from -1000 to 1000.
        """
        try:
            with path.open("rb") as file:
                text = file.read(LARGEST_FILE + 1)
        except OSError as error:
            raise PolicyError(f"{path} cannot be read: {error.strerror}") from error
        if len(text) > LARGEST_FILE:
            raise PolicyError(f"{path} has more than {LARGEST_FILE} bytes")
        try:
            said = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PolicyError(f"{path} is not JSON: {error}") from error
        try:
            return cls(_layers(said))
        except PolicyError as error:
            raise PolicyError(f"{path}: {error}") from error

    def text(self, **trained: object) -> str:
        """Return the policy as a file has it, with how it was made."""
        layers = [{"weights": weights, "biases": biases} for weights, biases in self.layers]
        head = {"format": "aurora-policy", "version": 1, "trained": trained}
        return json.dumps(head | {"layers": layers}, allow_nan=False) + "\n"


def _taken(numbers: Iterator[float], count: int) -> list[float]:
    taken = list(itertools.islice(numbers, count))
    if len(taken) < count:
        raise ValueError("too few numbers")
    return taken


def _layers(said: object) -> list[Layer]:
    file = _table(said)
    if (file.get("format"), file.get("version")) != ("aurora-policy", 1):
        raise PolicyError('known is "aurora-policy" of version 1')
    layers = _row(file.get("layers"), len(SIZES) - 1, "the policy", "layers")
    sizes = itertools.pairwise(SIZES)
    return [
        _layer(layer, *size, f"layer {n}")
        for n, (layer, size) in enumerate(zip(layers, sizes, strict=True), 1)
    ]


def _layer(said: object, inputs: int, outputs: int, name: str) -> Layer:
    layer = _table(said)
    rows = _row(layer.get("weights"), outputs, name, "rows of weights")
    biases = _row(layer.get("biases"), outputs, name, "biases")
    weights = [_row(row, inputs, f"each row of {name}", "weights") for row in rows]
    return [[_weight(value, name) for value in row] for row in weights], [
        _weight(value, name) for value in biases
    ]


def _table(said: object) -> dict[str, object]:
    return cast("dict[str, object]", said) if isinstance(said, dict) else {}


def _row(said: object, count: int, where: str, what: str) -> list[object]:
    row = cast("list[object]", said) if isinstance(said, list) else []
    if len(row) != count:
        raise PolicyError(f"{where} must have {count} {what}")
    return row


def _weight(said: object, where: str) -> float:
    if not isinstance(said, int | float) or isinstance(said, bool) or not abs(said) <= LARGEST_WEIGHT:
        raise PolicyError(f"a weight of {where} is no number from -{LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}")
    return float(said)


def changed(rate: float, action: float) -> float:
    """Return the rate after an action, within its bounds; an action that is no number holds it."""
    if math.isnan(action):
        return rate
    action = min(max(action, -STRONGEST), STRONGEST)
    rate = rate * (1 + STEP * action) if action >= 0 else rate / (1 - STEP * action)
    return min(max(rate, LEAST_RATE), MOST_RATE)


class Aurora:
    """A rate that a policy changes; times in picoseconds, sizes in bytes."""

    feedback = "timestamps"
    files = (FILE.name,)
    policy: ClassVar[Policy | None] = None
    """Of a subclass; else that of the file."""

    def __init__(self, context: ControllerContext) -> None:
        self._policy = self.policy or Policy.read(FILE)
        self._segment = context.segment
        self.history = deque([Interval()] * HISTORY, maxlen=HISTORY)
        self._round_trip: float | None = None
        self._least = math.inf
        self._set(FIRST_RATE)
        self._begin(context.now_ps)

    def on_sent(self, event: SentEvent) -> None:
        """Count."""
        self._sent += event.bytes

    def on_acknowledgement(self, event: AcknowledgementEvent) -> None:
        """Count, and remember the round-trip time."""
        self._acknowledged += event.acknowledged
        self._limited = self._limited and event.application_limited
        if event.rtt_ps is not None:
            self._round_trips.append(event.rtt_ps)

    def on_loss(self, event: LossEvent) -> None:
        """Do nothing: what is lost is sent and not acknowledged."""

    def on_timeout(self, event: TimeoutEvent) -> None:  # noqa: ARG002
        """Halve the rate: the paper has no time-out, but a path that is silent must not be flooded."""
        self._set(max(self.rate / 2, LEAST_RATE))

    def on_timer(self, now_ps: int) -> None:
        """End an interval and act."""
        if self._round_trips:
            mean = sum(self._round_trips) / len(self._round_trips)
            self._round_trip = max(mean, 1.0)  # ratios need more than none
            self._least = min(self._least, self._round_trip)
        if self._round_trip is not None and self._sent:
            self.history.append(self._interval(now_ps - self._began))
            action = self._policy.action([value for each in self.history for value in each.deviation()])
            self._set(changed(self.rate, min(action, 0.0) if self._limited else action))
        self._begin(now_ps)

    def _interval(self, duration: int) -> Interval:
        ratio = min(self._sent / self._acknowledged, MOST) if self._acknowledged else MOST
        if not self._round_trips or self._round_trip is None:
            return self.history[-1]._replace(send_ratio=ratio)
        half = len(self._round_trips) // 2
        gradient = 0.0
        if half:
            earlier, later = self._round_trips[:half], self._round_trips[half:]
            gradient = (sum(later) / len(later) - sum(earlier) / len(earlier)) / duration
        return Interval(min(max(gradient, -1.0), MOST), min(self._round_trip / self._least, MOST), ratio)

    def _begin(self, now: int) -> None:
        self._began = now
        self._sent = self._acknowledged = 0
        self._round_trips: list[int] = []
        self._limited = True
        packets = LEAST_PACKETS * self._segment * 8e12 / self.rate
        self.next_timer_ps = now + round(max(self._round_trip or FIRST_WAIT_PS, packets))

    def _set(self, rate: float) -> None:
        self.rate = rate
        self.pacing_rate = round(rate)
        flight = 0 if self._round_trip is None else 2 * rate * self._round_trip / 8e12
        self.window = max(round(flight), FIRST_PACKETS * self._segment)
