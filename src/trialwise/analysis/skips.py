"""Treatments that are skipped, or that no run has come to yet, and what of them was not measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from trialwise.numbers import counted, first_of
from trialwise.store.ledger import Ledger
from trialwise.store.ledger_facts import excluded_text
from trialwise.store.records import NOT_BEGUN, TrialRow

_NAMED = 10
"""Treatments that a note names; the others are counted."""


def skips_text(ledger: Ledger, rows: Iterable[TrialRow]) -> Iterator[str]:
    """Say which treatments are skipped, by whom, when and why, and how many of their trials have not run."""
    skips = ledger.skips()
    if not skips:
        return
    left = Counter(row.treatment for row in rows if row.status == "skipped" and not row.warmup)
    for name, why in skips.items():
        yield f"{name}: skipped {excluded_text(why)}; {counted(left[name], 'trial')} not measured"


def waiting_text(rows: Iterable[TrialRow]) -> Iterator[str]:
    """Say which treatments have not been run at all, such as those that `--only` leaves for later, where others have."""
    waiting: Counter[str] = Counter()
    begun: set[str] = set()
    for row in rows:
        if row.status in NOT_BEGUN:
            waiting[row.treatment] += row.status == "planned" and not row.warmup
        else:
            begun.add(row.treatment)
    left = [
        f"{name} ({counted(number, 'trial')})"
        for name, number in waiting.items()
        if number and name not in begun
    ]
    if left and begun:
        yield f"not run yet: {first_of(left, _NAMED)}"
