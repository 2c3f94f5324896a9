"""The ledger under any sequence of operations and crashes: no finished trial is lost or doubled, and the plan stays whole."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from trialwise.store.ledger import Ledger
from trialwise.store.records import Event, Session, TrialRow

ENDS = ("finished", "failed", "invalid", "abandoned")


def planned(number: int) -> TrialRow:
    return TrialRow(
        number=number,
        attempt=1,
        status="planned",
        treatment=f"x={number % 3}",
        factors={"x": number % 3, "text": 'é"\n'},
        series=1,
        round=(number + 2) // 3,
        position=(number - 1) % 3 + 1,
        order="random",
        seed=number,
        warmup=False,
        planned_start=None,
    )


class LedgerMachine(RuleBasedStateMachine):
    """A ledger beside a model of it: which trials there are, and which have come to which end."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="trialwise-ledger-"))
        self.path = self.folder / "ledger.sqlite"
        self.running: TrialRow | None = None
        self.ends: dict[int, str] = {}
        self.attempts: Counter[int] = Counter()
        self.values: dict[tuple[int, int], float] = {}
        self.session = Session(1, 0.0, None, None, 1, "local", "boot", "0", "environments/001.json")

    @initialize(trials=st.integers(1, 8))
    def create(self, trials: int) -> None:
        rows = [planned(number) for number in range(1, trials + 1)]
        self.ledger = Ledger.create(self.path, {"name": "model"}, rows)
        self.attempts.update(row.number for row in rows)
        self.ledger.start_session(self.session)

    @precondition(lambda self: self.running is None)
    @rule()
    def claim(self) -> None:
        row = self.ledger.next_planned()
        open_trials = [number for number in self.attempts if number not in self.ends]
        if row is None:
            assert not open_trials
            return
        assert row.number == min(open_trials)
        assert row.attempt == self.attempts[row.number]
        self.ledger.claim(row, self.session, 1.0)
        self.running = row

    @precondition(lambda self: self.running is not None)
    @rule(status=st.sampled_from(ENDS), value=st.floats(allow_nan=False))
    def end(self, status, value: float) -> None:
        row = self.running
        assert row is not None
        reported = [("resource:wall", value, 1, None)] if status == "finished" else []
        self.ledger.finish(row, status, started=1.0, finished=2.0, exit_code=0, reason=None, values=reported)
        self.running = None
        if status == "abandoned":
            self.attempts[row.number] += 1
            return
        self.ends[row.number] = status
        if status == "finished":
            self.values[row.number, row.attempt] = value

    @precondition(lambda self: bool(self.attempts))
    @rule()
    def try_again(self) -> None:
        unsuccessful = [number for number, status in self.ends.items() if status in ("failed", "invalid")]
        assert self.ledger.plan_again() == len(unsuccessful)
        for number in unsuccessful:
            del self.ends[number]
            self.attempts[number] += 1

    @rule(folded=st.booleans())
    def crash_and_resume(self, folded: bool) -> None:
        """Take the files as they are at this instant, and go on with them."""
        if folded:
            self.ledger.close()
        copy = Path(tempfile.mkdtemp(prefix="trialwise-ledger-"))
        for file in self.folder.iterdir():
            if not file.name.endswith("-shm"):
                shutil.copyfile(file, copy / file.name)
        if not folded:
            self.ledger.close()
        shutil.rmtree(self.folder)
        self.folder, self.path = copy, copy / "ledger.sqlite"
        self.ledger = Ledger.open(self.path)
        assert self.ledger.abandon_running("killed") == (self.running is not None)
        if self.running is not None:
            self.attempts[self.running.number] += 1
            self.running = None

    @rule(more=st.integers(1, 3))
    def extend(self, more: int) -> None:
        last = self.ledger.last_number()
        assert last == max(self.attempts)
        self.ledger.extend([planned(last + n) for n in range(1, more + 1)], {"experiment": "longer"})
        self.attempts.update(range(last + 1, last + more + 1))

    @rule()
    def note(self) -> None:
        self.ledger.add_event(Event(1.0, "reset failed", "x"))

    @invariant()
    def the_plan_is_whole_and_nothing_is_lost_or_doubled(self) -> None:
        if not self.attempts:
            return
        reader = Ledger.open(self.path, read_only=True)
        rows = reader.trials()
        counts, by_treatment = reader.counts(), reader.counts_by_treatment()
        ended, planned_number = reader.ended(), reader.planned_number()
        values = {(number, attempt): value for number, attempt, _, value, _, _ in reader.values()}
        reader.close()
        assert {row.number for row in rows} == set(range(1, max(self.attempts) + 1))
        assert Counter(row.number for row in rows) == self.attempts
        last = {row.number: row for row in rows}
        assert {n: row.status for n, row in last.items() if row.status in ENDS[:3]} == self.ends
        assert (ended, planned_number) == (len(self.ends), len(self.attempts))
        assert values == self.values
        for number in set(last) - set(self.ends):
            is_running = self.running is not None and self.running.number == number
            assert last[number].status == ("running" if is_running else "planned")
        assert all(row.factors == planned(row.number).factors and row.seed == row.number for row in rows)
        assert counts == Counter(row.status for row in rows)
        assert sum(sum(each.values()) for each in by_treatment.values()) == len(rows)

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.close()
        shutil.rmtree(self.folder, ignore_errors=True)


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


@pytest.mark.soak
def test_thousands_of_sequences() -> None:
    run_state_machine_as_test(
        LedgerMachine, settings=settings(max_examples=2000, stateful_step_count=60, deadline=None)
    )
