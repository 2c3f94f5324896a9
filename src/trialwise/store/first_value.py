"""What gives an experiment its first value, where no trial has one."""

from __future__ import annotations

from collections.abc import Iterable

from trialwise.numbers import counted
from trialwise.store.records import TrialRow

_WITHOUT = ("failed", "invalid", "abandoned")


def first_value_by(rows: Iterable[TrialRow]) -> str:
    """Say what would give a value: to run the experiment, or to mend what its attempts, in their order, failed of."""
    ended = [row for row in rows if row.status in (*_WITHOUT, "finished")]
    reasons = [row.reason or row.status for row in ended if row.status in _WITHOUT]
    finished = len(ended) - len(reasons)
    return after_failures(reasons) if not finished else _after_trials(finished)


def after_failures(reasons: list[str]) -> str:
    """Say what would give a value after attempts that failed for these reasons, in their order."""
    if not reasons:
        return "run the experiment"
    made = f"made {counted(len(reasons), 'attempt')} fail"
    return f"mend what {made}, and run the experiment with --again; the last one: {reasons[-1]}"


def _after_trials(finished: int) -> str:
    had = "1 trial has" if finished == 1 else f"{finished} trials have"
    return f"{had} finished without one: see with trialwise status --trial N what a trial wrote, and where the metric is read"
