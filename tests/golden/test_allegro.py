"""Two flows of PCC Allegro as fluids, from sections 2.2 and 3 of its paper: how long they take to equal shares."""

from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from random import Random

import pytest

from trialwise import _core

STEP = 0.01


def utility(rate, loss):
    return rate * ((1 - loss) / (1 + exp(100 * (loss - 0.05))) - loss)


@dataclass
class Interval:
    trial: int | None
    """Which of four trials, or of the steps of an adjustment; none where nothing hangs on it."""
    rate: float
    attempt: int
    sent: float = 0
    lost: float = 0
    closed: float = 0


@dataclass
class Fluid:
    base: float
    """Packets/s."""
    random: Random
    steps: int = 1
    attempt: int = 0
    """Decisions and adjustments so far: what was tried in an earlier one counts no more."""
    directions: list[int] = field(default_factory=list)
    begun: int = 0
    utilities: dict[int, float] = field(default_factory=dict)
    adjusting: int = 0
    """Direction of the adjustment; 0 while four trials decide."""
    before: tuple[float, float] = (0, 0)
    pending: list[Interval] = field(default_factory=list)
    now: Interval | None = None
    end: float = 0

    def decide(self, rate, steps=1):
        self.base, self.steps, self.adjusting = rate, steps, 0
        self.attempt += 1
        self.directions, self.begun, self.utilities = [], 0, {}

    def begin(self, time, round_trip):
        """Monitor intervals of 1.7 to 2.2 round trips, one behind the other."""
        if self.now:
            self.now.closed = time
            self.pending.append(self.now)
        trial, rate = None, self.base
        if self.adjusting:
            trial, self.begun = (1 if self.begun == 0 else None), 1
        elif self.begun < 4:
            if not self.directions:
                first, second = (self.random.choice((1, -1)) for _ in range(2))
                self.directions = [first, -first, second, -second]
            trial = self.begun
            rate *= 1 + STEP * self.steps * self.directions[trial]
            self.begun += 1
        self.now = Interval(trial, rate, self.attempt)
        self.end = time + self.random.uniform(1.7, 2.2) * round_trip

    def judge(self, interval):
        if interval.trial is None or interval.attempt != self.attempt:
            return
        found = utility(interval.rate, interval.lost / interval.sent)
        if self.adjusting:
            if found < self.before[1]:
                self.decide(self.before[0])
            else:
                self.adjust(self.adjusting, self.base, found)
            return
        self.utilities[interval.trial] = found
        if len(self.utilities) < 4:
            return
        better = [
            self.directions[p] * (1 if self.utilities[p] > self.utilities[p + 1] else -1) for p in (0, 2)
        ]
        if better[0] != better[1]:
            self.decide(self.base, min(self.steps + 1, 5))
            return
        agreed = [self.utilities[p] for p in range(4) if self.directions[p] == better[0]]
        rate, self.steps = self.base * (1 + STEP * self.steps * better[0]), 0
        self.adjust(better[0], rate, sum(agreed) / 2)

    def adjust(self, direction, rate, found):
        self.adjusting, self.before = direction, (rate, found)
        self.steps += 1
        self.base = rate * (1 + STEP * self.steps * direction)
        self.attempt += 1
        self.begun = 0


def shares(capacity, round_trip, queue, seconds, seed):
    """What the second of two flows gets in each five seconds, where it starts with 2 % beside one that has the rest."""
    random, step = Random(seed), round_trip / 60
    flows = [Fluid(capacity * share, random) for share in (0.98, 0.02)]
    waiting, got = 0.0, [0.0] * (seconds // 5)
    for tick in range(int(seconds / step)):
        time, delay = tick * step, round_trip + waiting / capacity
        for flow in flows:
            if flow.now is None or time >= flow.end:
                flow.begin(time, delay)
            while flow.pending and time >= flow.pending[0].closed + delay:
                flow.judge(flow.pending.pop(0))
        rates = [flow.now.rate for flow in flows]
        waiting = max(waiting + (sum(rates) - capacity) * step, 0)
        lost = max(waiting - queue, 0) / (sum(rates) * step)
        waiting = min(waiting, queue)
        for flow in flows:
            flow.now.sent += flow.now.rate * step
            flow.now.lost += flow.now.rate * step * lost
        got[min(int(time / 5), len(got) - 1)] += rates[1] * step * (1 - lost) / 5 / capacity
    return got


def settled(parts):
    """After how many seconds the second flow has three quarters of a half for the first time."""
    return next((5 * place for place, part in enumerate(parts) if 0.375 <= part <= 0.625), None)


def simulated(rate, delay, queue, seconds):
    found = _core.simulate_path(
        [[("rate", rate), ("delay", delay), ("queue", queue)]],
        [[("delay", delay)]],
        [("allegro", "bulk", "uplink", 0.0, seconds), ("allegro", "bulk", "uplink", 10.0, seconds)],
        directory=Path(),
        seed=1,
    ).packets
    arrived = (found.event == 0) & (found.direction == 0)
    parts = []
    for start in range(10, int(seconds), 5):
        span = arrived & (found.time_ns >= start * 1e9) & (found.time_ns < (start + 5) * 1e9)
        parts.append((found.flow[span] == 2).mean())
    return parts


def test_flows_take_minutes_at_12_megabits_and_60_milliseconds():
    fluid = settled(shares(1000, 0.06, 60, 300, seed=1))
    assert 150 <= fluid <= 250
    assert settled(simulated("12Mbit/s", "30ms", "droptail:packets=60", 300.0)) == pytest.approx(
        fluid, rel=0.35
    )


def test_at_100_megabits_they_take_a_minute_or_two_where_losses_come_at_random():
    assert 80 <= settled(shares(8333, 0.03, 250, 200, seed=1)) <= 150
    assert 40 <= settled(shares(8333, 0.03, 25, 200, seed=1)) <= 100
    red = "red:packets=500,min=50,max=250,probability=0.02,weight=0.02"
    assert settled(simulated("100Mbit/s", "15ms", red, 120.0)) <= 100
    # Two paced flows lock into each other before a queue that is full (Floyd and Jacobson, "On traffic phase effects", 1991).
    assert settled(simulated("100Mbit/s", "15ms", "droptail:packets=250", 120.0)) is None
