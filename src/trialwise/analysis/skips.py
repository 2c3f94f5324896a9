"""Treatments that are skipped, and what of them was not measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from trialwise.numbers import counted
from trialwise.store.ledger import Ledger
from trialwise.store.ledger_facts import excluded_text
from trialwise.store.records import TrialRow


def skips_text(ledger: Ledger, rows: Iterable[TrialRow]) -> Iterator[str]:
    """Say which treatments are skipped, by whom, when and why, and how many of their trials have not run."""
    skips = ledger.skips()
    if not skips:
        return
    left = Counter(row.treatment for row in rows if row.status == "skipped" and not row.warmup)
    for name, why in skips.items():
        yield f"{name}: skipped {excluded_text(why)}; {counted(left[name], 'trial')} not measured"
