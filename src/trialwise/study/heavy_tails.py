"""What is said at the end of a run of treatments whose means mislead."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

from trialwise.errors import AnalysisError
from trialwise.statistics.tails import FEWEST
from trialwise.study.locating import opened


def tails(path: Path) -> tuple[str, ...]:
    """Warn of treatments whose means say less than they seem to, because of one trial or skewness; none if nothing is known."""
    with opened(path) as (_, _, ledger):
        finished = Counter(row.treatment for row in ledger.present_trials("finished"))
    if max(finished.values(), default=0) < FEWEST:
        return ()
    from trialwise.analysis.comparison.comparing import tails_of
    from trialwise.study.reading import comparison_set

    with suppress(AnalysisError):
        return tuple(tails_of(comparison_set(path, paired=False)))
    return ()
