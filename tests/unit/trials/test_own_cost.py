"""What trials cost that are computed in this process, against its own clock and what the kernel says of its memory."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from trialwise.trials.base import TrialOutcome
from trialwise.trials.own_cost import costed

SECONDS, HELD = 0.2, 64 << 20


class Elsewhere:
    def computes_elsewhere(self, task) -> bool:
        return True


def compute(took: list[float]) -> TrialOutcome:
    began, held = time.process_time(), bytearray(HELD)
    while time.process_time() < began + SECONDS:
        held[0] = 1
    took.append(time.process_time() - began)
    return TrialOutcome("finished", 0.0, 1.0)


def test_cpu_time_and_memory_of_a_computed_trial_are_those_of_its_process():
    took: list[float] = []
    found = costed(None, None, lambda: compute(took)).samples
    user, system, peak = (
        float(found[f"instrument:{name}"].values[0]) for name in ("user", "system", "max_rss")
    )
    assert user + system == pytest.approx(took[0], abs=0.05)
    assert took[0] <= user + system + 0.001
    said = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    assert HELD < peak <= int(said.split()[1]) << 10


def test_what_another_process_computes_is_not_known():
    assert not costed(Elsewhere(), None, lambda: compute([])).samples
