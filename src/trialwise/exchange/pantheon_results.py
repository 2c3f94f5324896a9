"""The results of a Pantheon test, a folder or an archive: its runs as trials, and in which order they ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.order.trials import FIXED, RANDOM, OrderTrials, recorded_trials
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_archive import is_packed, with_unpacked
from trialwise.exchange.pantheon_folder import pantheon_trials, times_of
from trialwise.exchange.pantheon_times import RunTimes
from trialwise.exchange.pantheon_tunnels import Run
from trialwise.exchange.result_files import read_trials

_SCHEMA = {
    "line": pl.Int64,
    **dict.fromkeys(("metric", "group", "family", "treatment", "known_order", "worker", "round"), pl.String),
    "place": pl.Float64,
    "number": pl.Float64,
    "follows": pl.Boolean,
}


@dataclass(frozen=True, slots=True)
class PantheonResults:
    """The runs that count as trials, and when each run began, also of those that do not count."""

    trials: TrialSet
    times: Mapping[Run, RunTimes]

    def order(self, wanted: Sequence[str] = ()) -> OrderTrials:
        """Return the trials with their order, of some metrics or of all.

        Pantheon runs every scheme once before it begins with the next number, so that runs of one number are a round. Runs that it
        ignores took their place as well, and have no value.

        Raises
        ------
        AnalysisError
            It is not known when the runs began, or a metric is not among the results.
        """
        rounds = self._rounds()
        if not rounds:
            raise AnalysisError(
                f"{self.trials.name}: does not say when its runs began",
                hint="that stands in SCHEME_stats_runN.log, which Pantheon writes beside the logs",
            )
        for name in wanted:
            if name not in self.trials.metrics:
                known = ", ".join(self.trials.metrics)
                raise AnalysisError(f"{self.trials.name}: no metric {name!r}", hint=f"there are: {known}")
        order = FIXED if _is_one_order(list(rounds.values())) else RANDOM
        rows = [row for metric in wanted or self.trials.metrics for row in self._rows(metric, rounds, order)]
        table = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
        found = recorded_trials(self.trials.name, table, (), (*self.trials.notes, *self._untimed()))
        better = {
            name: facts.better for name, facts in self.trials.metrics.items() if facts.better is not None
        }
        return replace(found, better=better)

    def _rounds(self) -> dict[str, list[str]]:
        """Return the schemes of each round in the order in which they ran; rounds in theirs."""
        began = {run: times.began for run, times in self.times.items() if times.began is not None}
        found: dict[str, list[str]] = defaultdict(list)
        for scheme, number in sorted(began, key=lambda run: (began[run], run)):
            found[number].append(scheme)
        return found

    def _rows(self, metric: str, rounds: Mapping[str, list[str]], order: str) -> Iterator[tuple[object, ...]]:
        values = {
            (treatment, number): value
            for treatment, number, value in self.trials.of(metric)
            .select("treatment", "round", "value")
            .iter_rows()
        }
        line = 0
        for number, schemes in rounds.items():
            for place, scheme in enumerate(schemes, start=1):
                line += 1
                treatment = treatment_name({"scheme": scheme})
                value = values.get((treatment, number))
                yield (line, metric, "", metric, treatment, order, "", number, float(place), value, place > 1)

    def _untimed(self) -> Iterator[str]:
        table = self.trials.table.filter(pl.col("started").is_null())
        if missing := table["trial"].n_unique():
            runs = "1 run is" if missing == 1 else f"{missing} runs are"
            yield f"{runs} left out: it is not known when they began"


def _is_one_order(rounds: list[list[str]]) -> bool:
    """Return True if the schemes that all rounds have ran in the same order in each."""
    common = set(rounds[0]).intersection(*rounds[1:])
    orders = {tuple(scheme for scheme in each if scheme in common) for each in rounds}
    return len(orders) == 1


def read_results(path: Path) -> PantheonResults:
    """Read a folder, an archive, or a `pantheon_perf.json`.

    Raises
    ------
    AnalysisError
        It cannot be read, or holds no run (`pantheon_trials`, `with_unpacked`).
    """
    name = str(path)
    if path.is_dir():
        return _of_folder(path, name)
    if not is_packed(path):
        return PantheonResults(read_trials(path), {})
    found, notes = with_unpacked(path, lambda folder: _of_folder(folder, name))
    return replace(found, trials=replace(found.trials, notes=notes(found.trials.notes)))


def _of_folder(folder: Path, name: str) -> PantheonResults:
    return PantheonResults(pantheon_trials(folder, name), times_of(folder))
