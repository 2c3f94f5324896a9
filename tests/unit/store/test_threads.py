"""A ledger is for all threads of a process: each worker has one, and all write into it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow


def test_threads_that_did_not_open_the_ledger_write_to_it_together(tmp_path: Path):
    rows = [
        TrialRow(n, 1, "failed", "-", {}, 1, n, 1, "random", 1, warmup=False, planned_start=None)
        for n in range(1, 41)
    ]
    ledger = Ledger.create(tmp_path / "ledger.sqlite", {}, rows)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda row: ledger.plan_again([row]), rows)) == [1] * 40
    assert ledger.counts() == {"failed": 40, "planned": 40}
    ledger.close()
