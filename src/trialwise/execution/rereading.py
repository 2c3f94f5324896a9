"""Read metrics of finished trials again, from what was kept of them.

What is read is held for one trial at a time: all trials are read once to see whether that works, and again to record it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from trialwise.errors import PlanError, TrialError
from trialwise.execution.recording import Digests, Value, store_samples
from trialwise.experiment.model import Experiment, Level, Metric
from trialwise.experiment.sources import Source, TextSource
from trialwise.measurement.keeping import read_kept
from trialwise.measurement.reported import Reported, from_file, from_output
from trialwise.measurement.samples import Samples
from trialwise.measurement.sources import read_source
from trialwise.numbers import counted, ranges_text
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.outputs import KeptOutput, read_files, read_output
from trialwise.store.records import REREAD, Amendment, LateValues, TrialRow
from trialwise.store.user import user_name
from trialwise.trials.command import kept_name, trial_of
from trialwise.visible import visible

_HINT = "add --reread to read it of the other trials, and to count the rest as trials without it; or start anew with --directory"
_MOST_REASONS = 10
"""Different reasons that are told; trials with others count together."""


@dataclass(frozen=True, slots=True)
class Found:
    """A metric that can be read again: the trials that have it, and those that lack it, by the reason."""

    metric: Metric
    rows: Sequence[TrialRow]
    missing: Mapping[str, Sequence[TrialRow]]

    @property
    def trials(self) -> int:
        """The number of trials that it was looked for in."""
        return len(self.rows) + sum(map(len, self.missing.values()))

    @property
    def text(self) -> str:
        """How many of the trials gave it, and why the others did not."""
        told = f"{self.metric.name}: read again from what was kept of {len(self.rows)} of {counted(self.trials, 'finished trial')}"
        return told + "".join(
            f"; {counted(len(rows), 'trial')} without it ({ranges_text(row.number for row in rows)}): {reason}"
            for reason, rows in self.missing.items()
        )

    @property
    def record(self) -> dict[str, object]:
        """What the ledger says of it."""
        missing = {reason: ranges_text(row.number for row in rows) for reason, rows in self.missing.items()}
        return {
            "source": self.metric.source.key,
            "read": len(self.rows),
            "of": self.trials,
            "missing": missing,
        }


def read_again(
    metrics: Sequence[Metric],
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    *,
    partly: bool,
) -> list[Found]:
    """Find out which metrics can be read from what was kept of the finished trials that have no value of them.

    Raises
    ------
    PlanError
        A metric cannot be read from what was kept of a trial; not if `partly`, which counts the trial as one without it.
    """
    rows = ledger.present_trials("finished", "excluded")
    by_source = {metric.source.key: metric for metric in reversed(metrics)}
    held = {(number, attempt, source) for number, attempt, source, *_ in ledger.values(list(by_source))}
    return [
        _found(metric, lacking, experiment, directory, partly=partly)
        for source, metric in reversed(by_source.items())
        if (lacking := [row for row in rows if (row.number, row.attempt, source) not in held])
    ]


def read_found(
    found: Sequence[Found], experiment: Experiment, directory: ExperimentDirectory, because: str
) -> LateValues | None:
    """Read what was found, for the ledger to record with why, for each trial and as a whole; None if nothing was looked for.

    Nothing counts before the ledger has it; repeating this gives the same result.

    Raises
    ------
    PlanError
        What was kept of a trial has gone since it was found.
    """
    digests: Digests = {}
    values: dict[tuple[int, int], list[Value]] = {}
    for each in found:
        for row in each.rows:
            samples = _checked(directory, row, each.metric, experiment)
            stored = store_samples(directory, row, each.metric.source.key, samples, digests)
            values.setdefault((row.number, row.attempt), []).append(stored)
    if not found:
        return None
    detail = {"metrics": {each.metric.name: each.record for each in found}}
    return LateValues(values, Amendment(time.time(), REREAD, user_name(), because, detail=detail), digests)


def found_text(found: Sequence[Found]) -> str:
    """Say what was read again: in short if every trial gave every metric."""
    if any(each.missing for each in found):
        return "; ".join(each.text for each in found)
    most = max(each.trials for each in found)
    return f"read again from what was kept of {counted(most, 'finished trial')}"


def is_kept(metric: Metric, experiment: Experiment) -> bool:
    """Return True if a metric is read from what is kept of every finished trial."""
    return metric.source.traits.read_from in experiment.trial.traits.kept


def places_of(row: TrialRow) -> dict[str, Level]:
    """Return the built-in placeholders of a trial, except its directory."""
    return {
        "seed": row.seed,
        "series": row.series,
        "round": row.round,
        "position": row.position,
        "trial": row.number,
    }


def _found(
    metric: Metric,
    rows: Sequence[TrialRow],
    experiment: Experiment,
    directory: ExperimentDirectory,
    *,
    partly: bool,
) -> Found:
    has: list[TrialRow] = []
    missing: dict[str, list[TrialRow]] = {}
    for row in rows:
        if not partly:
            _checked(directory, row, metric, experiment)
            has.append(row)
            continue
        try:
            KeptTrial(directory, row, experiment).read(metric.source)
            has.append(row)
        except TrialError as error:
            reason = visible(error.message)
            known = reason in missing or len(missing) < _MOST_REASONS
            missing.setdefault(reason if known else "for other reasons", []).append(row)
    return Found(metric, has, missing)


def _checked(
    directory: ExperimentDirectory, row: TrialRow, metric: Metric, experiment: Experiment
) -> Samples:
    """Read a metric from what was kept of a trial; raise PlanError if it cannot be read."""
    try:
        return KeptTrial(directory, row, experiment, f" of trial {row.number}").read(metric.source)
    except TrialError as error:
        raise PlanError(f"metrics.{metric.name}: {error.message}", hint=_HINT) from error


class KeptTrial:
    """What was kept of a trial, which `of` names in messages; each part is unpacked once, and held."""

    def __init__(
        self, directory: ExperimentDirectory, row: TrialRow, experiment: Experiment, of: str = ""
    ) -> None:
        self._directory, self._row, self._experiment, self._of = directory, row, experiment, of
        self._output: KeptOutput | None = None
        self._files: bytes | None = None

    def read(self, source: Source) -> Samples:
        """Read the numbers of a source; raise TrialError if they cannot be read."""
        if source.traits.read_from is None:
            raise TrialError(f"it is measured while a trial runs, and nothing{self._of} is kept that has it")
        text = cast("TextSource", source)  # what is read from there is a text
        return read_source(text, self._printed() if text.path is None else self._wrote(text))

    def _printed(self) -> Reported:
        """Return what the trial printed."""
        if self._output is None:
            self._output = read_output(self._directory.path, self._row.number, self._row.attempt, "stdout")
        if self._output is None:
            raise TrialError(f"the output{self._of} was not kept, so it cannot be read again")
        data = self._output.data
        total = len(data) + self._output.cut
        return from_output(data, total=total, where=f"the kept standard output{self._of}")

    def _wrote(self, source: TextSource) -> Reported:
        """Return what the trial wrote to a file."""
        if self._files is None:
            self._files = read_files(self._directory.path, self._row.number, self._row.attempt) or b""
        values = {**places_of(self._row), **self._row.factors}
        name = kept_name(trial_of(self._experiment), values, source.path or "")
        written = read_kept(self._files, name)
        if written is None:
            raise TrialError(f"the file {name}{self._of} was not kept, so it cannot be read again")
        return from_file(f"the kept {name}{self._of}", written, here=False)
