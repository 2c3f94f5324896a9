"""Record the results of trials: samples, logs, and the ledger's rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.errors import TrialwiseError
from trialwise.experiment.sources import RESULTS
from trialwise.measurement.samples import Samples
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.files import keep
from trialwise.store.ledger import Ledger
from trialwise.store.outputs import files_file, log_name, output_files, shortened
from trialwise.store.records import REMARK, Event, Session, TrialEnd, TrialRow
from trialwise.store.samples import (
    Entry,
    file_name,
    record_name,
    segment_name,
    write_samples,
    write_segment,
)
from trialwise.trials.base import TrialOutcome
from trialwise.trials.removing import remove_tree

LOG_PART = 16 * 1024
"""Bytes that the log of a failed trial has of the beginning and of the end of each output; `outputs/` keeps more."""

Value = tuple[str, float | None, int, str | None]
Digests = dict[str, str]
"""SHA-256 of files of samples, by their names below the directory."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A trial with its outcome; `claimed` is when it was handed out, Unix seconds."""

    row: TrialRow
    outcome: TrialOutcome
    claimed: float


class Recorder:
    """Writes the results of trials into an experiment directory."""

    def __init__(
        self, directory: ExperimentDirectory, ledger: Ledger, now: Callable[[], float] = time.time
    ) -> None:
        self._directory = directory
        self._ledger = ledger
        self._now = now
        self._remarks = {event.text for event in ledger.events() if event.kind == REMARK}
        self._counted: set[str] = set()

    def record(self, row: TrialRow, outcome: TrialOutcome, *, retry: bool = False) -> None:
        """Record the outcome of a claimed trial; with `retry` it is planned again.

        Raises
        ------
        StoreError
            The directory cannot be written, or no longer exists.
        """
        self._ledger.check_in_place()
        try:
            values, digests = self._stored(row, outcome)
            for name, content in _beside(row, outcome):
                self._directory.write_durably(name, content)
            self._keep_record(row, outcome)
            self._ledger.finish(
                row,
                outcome.status,
                started=outcome.started,
                finished=outcome.finished,
                exit_code=outcome.exit_code,
                reason=outcome.reason,
                values=values,
                process=outcome.process,
                digests=digests,
                retry=retry,
            )
        except TrialwiseError:
            remove_tree(self._directory.scratch)
            raise

    def _stored(self, row: TrialRow, outcome: TrialOutcome) -> tuple[list[Value], Digests]:
        """Write the samples of a trial: each source to a file, or those of a harness, which may be hundreds, to one together."""
        digests: Digests = {}
        found = {source: samples for source, samples in outcome.samples.items() if source.startswith(RESULTS)}
        others = {source: samples for source, samples in outcome.samples.items() if source not in found}
        values = [
            store_samples(self._directory, row, source, samples, digests)
            for source, samples in others.items()
        ]
        segment, entries = segment_name(row.number, row.attempt), list[Entry]()
        values += _in_segment(row, found, segment, entries)
        digests |= self._segment(segment, entries)
        return values, digests

    def _segment(self, name: str, entries: Sequence[Entry]) -> Digests:
        """Write a segment, if anything is in it; return its SHA-256 by its name."""
        return {name: write_segment(self._directory.path / name, entries)} if entries else {}

    def record_together(self, ended: Sequence[Ended], session: Session) -> None:
        """Record the outcomes of trials that have not been claimed: their files, including one of samples, then one transaction.

        Raises
        ------
        StoreError
            The directory cannot be written, or no longer exists; then none of these trials is recorded.
        """
        self._ledger.check_in_place()
        segment = segment_name(ended[0].row.number, ended[0].row.attempt)
        entries: list[Entry] = []
        ends = [self._end(one, segment, entries) for one in ended]
        digests = self._segment(segment, entries)
        self._directory.write_together(dict(pair for one in ended for pair in _beside(one.row, one.outcome)))
        self._ledger.record_together(ends, session, digests)

    def new_remarks(self, remarks: Iterable[str]) -> Iterator[str]:
        """Record the remarks that no trial has made before, and yield them; of those that are counted the first of a run."""
        for text in remarks:
            if text not in self._remarks:
                self._remarks.add(text)
                event = Event(self._now(), REMARK, text)
                self._ledger.add_event(event)
                if event.routine not in self._counted:
                    yield text
                if event.routine is not None:
                    self._counted.add(event.routine)

    def _end(self, one: Ended, segment: str, entries: list[Entry]) -> TrialEnd:
        row, outcome = one.row, one.outcome
        values = _in_segment(row, outcome.samples, segment, entries)
        return TrialEnd(
            row,
            outcome.status,
            outcome.started,
            outcome.finished,
            outcome.exit_code,
            outcome.reason,
            values,
            one.claimed,
        )

    def _keep_record(self, row: TrialRow, outcome: TrialOutcome) -> None:
        """Keep the record of every packet that a trial on this machine has left in its scratch folder."""
        if outcome.record is None:
            return
        what, content = outcome.record
        if isinstance(content, Path):
            keep(content, self._directory.path / record_name(row.number, row.attempt, what))


def _in_segment(
    row: TrialRow, found: Mapping[str, Samples], segment: str, entries: list[Entry]
) -> list[Value]:
    """Return a trial's rows of the ledger; what is more than one number is added to the entries of a segment."""
    values: list[Value] = []
    for source, samples in found.items():
        if is_single(samples):
            values.append((source, float(samples.values[0]), 1, None))
        else:
            entries.append((row.number, row.attempt, source, samples.values, samples.times))
            values.append((source, None, len(samples.values), segment))
    return values


def store_samples(
    directory: ExperimentDirectory, row: TrialRow, source: str, samples: Samples, digests: Digests
) -> Value:
    """Write a trial's samples to a file, unless there is only one number; return the ledger's row.

    The SHA-256 of the file is added to `digests`.
    """
    if is_single(samples):
        return source, float(samples.values[0]), 1, None
    name = file_name(row.number, row.attempt, source)
    digests[name] = write_samples(directory.path / name, samples.values, samples.times)
    return source, None, len(samples.values), name


def _beside(row: TrialRow, outcome: TrialOutcome) -> Iterator[tuple[str, bytes]]:
    """Yield what goes into files of their own: the record of every packet or flow, if handed over, outputs, and a log if it failed."""
    if outcome.record is not None:
        what, content = outcome.record
        if isinstance(content, bytes):
            yield record_name(row.number, row.attempt, what), content
    if outcome.kept:
        yield files_file(row.number, row.attempt, outcome.kept)
    if outcome.exit_code is not None or outcome.output or outcome.errors:  # there was a program
        yield from output_files(row.number, row.attempt, outcome.output, outcome.errors)
    if outcome.status != "finished":
        yield log_name(row.number, row.attempt), _log(row, outcome)


def _log(row: TrialRow, outcome: TrialOutcome) -> bytes:
    text = f"trial {row.number} attempt {row.attempt}: {row.treatment}\n{outcome.status}: {outcome.reason}\n".encode()
    output, errors = shortened(outcome.output, LOG_PART), shortened(outcome.errors, LOG_PART)
    return b"".join((text, b"--- standard output\n", output, b"\n--- standard error\n", errors))


def is_single(samples: Samples) -> bool:
    """Return True if there is only one number, which is stored in the ledger itself."""
    return len(samples.values) == 1 and samples.times is None
