"""The results of a Pantheon test, a folder or an archive: its runs as trials, and in which order they ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.order.trials import FIXED, RANDOM
from trialwise.analysis.recorded import Recorded, Turn
from trialwise.analysis.trial_set import TrialSet
from trialwise.exchange.pantheon_archive import with_unpacked
from trialwise.exchange.pantheon_folder import PantheonRuns, pantheon_runs, run_name, trials_of
from trialwise.exchange.pantheon_tunnels import Run
from trialwise.late import pl

NO_ORDER = (
    "these results of Pantheon do not say in which order the schemes of a run were tried",
    "that stands in SCHEME_stats_runN.log, which Pantheon writes beside the logs",
)


def folder_results(folder: Path, name: str) -> Recorded:
    """Return what a folder says, as `results_of`.

    Raises
    ------
    AnalysisError
        The folder cannot be read, or holds no run (`pantheon_runs`).
    """
    return results_of(pantheon_runs(folder), name)


def packed_results(path: Path, name: str) -> Recorded:
    """Return the same of a packed folder.

    Raises
    ------
    AnalysisError
        The archive cannot be unpacked, or what is in it not be read (`with_unpacked`).
    """
    return results_of(packed_runs(path), name)


def packed_runs(path: Path) -> PantheonRuns:
    """Return the runs of a packed folder; raise as `with_unpacked`."""
    found, notes = with_unpacked(path, pantheon_runs)
    return replace(found, notes=notes(found.notes))


def results_of(runs: PantheonRuns, name: str) -> Recorded:
    """Return the runs that count as trials, and when each run began, also of those that do not count.

    Pantheon runs every scheme once before it begins with the next number, so that runs of one number are a round. Runs that it
    ignores took their place as well, and have no value.

    Raises
    ------
    AnalysisError
        No run counts.
    """
    trials = trials_of(runs, name)
    rounds = _rounds(runs.began)
    order = FIXED if rounds and _is_one_order(list(rounds.values())) else RANDOM
    turns = tuple(
        Turn(treatment_name({"scheme": scheme}), run_name(name, scheme, number), order, number, place)
        for number, schemes in rounds.items()
        for place, scheme in enumerate(schemes, start=1)
    )
    return Recorded(
        trials=trials, turns=turns, no_order=("", "") if turns else NO_ORDER, untold=tuple(_untimed(trials))
    )


def _rounds(began: Mapping[Run, float]) -> dict[str, list[str]]:
    """Return the schemes of each round in the order in which they ran; rounds in theirs."""
    found: dict[str, list[str]] = defaultdict(list)
    for scheme, number in sorted(began, key=lambda run: (began[run], run)):
        found[number].append(scheme)
    return found


def _untimed(trials: TrialSet) -> Iterator[str]:
    table = trials.table.filter(pl.col("started").is_null())
    if missing := table["trial"].n_unique():
        runs = "1 run is" if missing == 1 else f"{missing} runs are"
        yield f"{runs} left out: it is not known when they began"


def _is_one_order(rounds: list[list[str]]) -> bool:
    """Return True if the schemes that all rounds have ran in the same order in each."""
    common = set(rounds[0]).intersection(*rounds[1:])
    orders = {tuple(scheme for scheme in each if scheme in common) for each in rounds}
    return len(orders) == 1
