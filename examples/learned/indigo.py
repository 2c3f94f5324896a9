"""Indigo (Yan and others, Pantheon: the training ground for Internet congestion-control research, ATC 2018), as a class in Python.

`train_indigo.py` lets it act and writes down what it saw. The controller `indigo:policy=FILE` does the same without Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
from networks import Floats

from trialwise._core import AcknowledgementEvent, ControllerContext, LossEvent, SentEvent, TimeoutEvent

ACTIONS: tuple[Callable[[float], float], ...] = (
    lambda window: window / 2,
    lambda window: window - 10,
    lambda window: window,
    lambda window: window + 10,
    lambda window: window * 2,
)
"""What may become of the window."""
HOLD = 2
UNITS = 32
INPUTS = 4 + len(ACTIONS)
STEP_PS = 10**10
FIRST_WINDOW, LEAST_WINDOW, MOST_WINDOW = 10.0, 2.0, 5000.0
"""Packets."""
SCALES = (200.0, 200.0, 200.0, 5000.0)
"""Of milliseconds, Mbit/s twice, and packets."""
WEIGHT = 0.125
"""Of a new value in an average."""


class Policy(NamedTuple):
    """An LSTM (rows of gates: input, output, forget, cell) and a layer from its units to a score for each action."""

    inputs: Floats
    hidden: Floats
    biases: Floats
    scores: Floats
    score_biases: Floats

    def step(self, seen: Floats, state: tuple[Floats, Floats]) -> tuple[Floats, tuple[Floats, Floats]]:
        """Return scores, and the state of the units after them."""
        hidden, cell = state
        gates = self.inputs @ seen + self.hidden @ hidden + self.biases
        entry, exit_, keep = (
            1 / (1 + np.exp(-np.clip(gates[at : at + UNITS], -60, 60))) for at in (0, UNITS, 2 * UNITS)
        )
        cell = keep * cell + entry * np.tanh(gates[3 * UNITS :])
        hidden = exit_ * np.tanh(cell)
        return self.scores @ hidden + self.score_biases, (hidden, cell)


def changed(window: float, action: int) -> float:
    """Return the window after an action, within its bounds."""
    return min(max(ACTIONS[action](window), LEAST_WINDOW), MOST_WINDOW)


def nothing() -> tuple[Floats, Floats]:
    """Return the state of units that have seen nothing."""
    return np.zeros(UNITS, np.float32), np.zeros(UNITS, np.float32)


class Indigo:
    """A window that a policy changes every ten milliseconds; times in picoseconds, sizes in bytes."""

    feedback = "packets"
    policy: ClassVar[Policy]
    """Of a subclass."""

    def __init__(self, context: ControllerContext) -> None:
        self._segment = context.segment
        self._last_sent = 0
        self._least_ms = math.inf
        self._begin()
        self.next_timer_ps = context.now_ps + STEP_PS

    def _begin(self) -> None:
        self.packets = FIRST_WINDOW
        self._state = nothing()
        self._action = len(ACTIONS) - 1
        self._clear()

    def _clear(self) -> None:
        self._averages: list[float] | None = None
        self._limited = True

    @property
    def window(self) -> int:
        """Bytes."""
        return int(self.packets * self._segment)

    def on_sent(self, event: SentEvent) -> None:
        """Remember the number."""
        self._last_sent = event.number

    def on_acknowledgement(self, event: AcknowledgementEvent) -> None:
        """Average what it says."""
        if not event.rtt_ps or not event.reports:
            return
        self._limited = self._limited and event.application_limited
        rtt = event.rtt_ps / 1e9
        self._least_ms = min(self._least_ms, rtt)
        newest = event.reports[-1][0]
        since = max(self._last_sent - newest, 0) * self._segment
        values = [rtt - self._least_ms, (event.delivery_rate or 0) / 1e6, 8e-3 * since / rtt]
        if self._averages is None:
            self._averages = values
        else:
            pairs = zip(self._averages, values, strict=True)
            self._averages = [old + WEIGHT * (new - old) for old, new in pairs]

    def on_loss(self, event: LossEvent) -> None:
        """Do nothing, as in the paper."""

    def on_timeout(self, event: TimeoutEvent) -> None:  # noqa: ARG002
        """Begin anew with the least window: the paper has no time-out, but a path that is silent must not be flooded."""
        self._begin()
        self.packets = LEAST_WINDOW

    def on_timer(self, now_ps: int) -> None:
        """End a step and act, if there was an acknowledgement."""
        self.next_timer_ps = now_ps + STEP_PS
        if self._averages is not None:
            values = [
                value / scale for value, scale in zip((*self._averages, self.packets), SCALES, strict=True)
            ]
            last = [float(action == self._action) for action in range(len(ACTIONS))]
            self._action = self.decide(np.array(values + last, np.float32))
            after = changed(self.packets, self._action)
            self.packets = min(after, self.packets) if self._limited else after
            self._clear()

    def decide(self, seen: Floats) -> int:
        """Return the number of the action with the highest score."""
        scores, self._state = self.policy.step(seen, self._state)
        return int(scores.argmax())
