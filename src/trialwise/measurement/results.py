"""Read all that a harness printed: its benchmarks and their metrics, found while trials run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trialwise.errors import AnalysisError, TrialError
from trialwise.experiment.results import Results
from trialwise.experiment.sources import ResultSource
from trialwise.measurement.keeping import is_archive, unpack
from trialwise.measurement.numbers import nearest
from trialwise.measurement.reported import Reported
from trialwise.measurement.samples import Samples
from trialwise.measurement.sources import require_own
from trialwise.readers.content import Content
from trialwise.readers.declared import Reader
from trialwise.readers.records import Reading, Row
from trialwise.readers.register import families, readers, readers_named, recognised, recognised_folder
from trialwise.readers.units import short_unit
from trialwise.temporary import vanishing_folder
from trialwise.visible import visible

MOST_METRICS = 5000
"""Maximum number of metrics of one trial."""
MOST_LETTERS = 300
"""Maximum length of a metric's name."""
_SAID = ("failed_units", "errors_in_load", "not_finite", "missing_values")
"""Codes of notes that are remarks on a trial: a part of what was to be measured is missing."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What a harness printed in one trial: samples by source key, the number of benchmarks, and what is missing."""

    samples: Mapping[str, Samples]
    benchmarks: int
    remarks: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What was read, in words."""
        values = sum(len(samples) for samples in self.samples.values())
        return f"{values:,} value{'' if values == 1 else 's'} of {len(self.samples):,} metric{'' if len(self.samples) == 1 else 's'}"


def read_results(results: Results, reported: Reported, taken: Collection[str] = ()) -> Printed:
    """Read the metrics that are kept of what a harness printed; `taken` are the names of other metrics.

    The samples of a metric are the harness's repetitions: its values, or those inside one that was measured again and again. A summary
    that stands alone counts as one value, because the trial is the unit.

    Raises
    ------
    TrialError
        The output is of another format, was cut off, has nothing that is kept, or a name has two units or directions in it.
    """
    reader, reading = _reading(results, reported)
    printed = _printed(results, reader, reading, reported.where, taken)
    if cut := next((note.text for note in reading.notes if note.code == "partial"), None):
        raise TrialError(
            f"{reported.where} is not complete: {cut}; it holds {printed.said}",
            hint="check that the harness ended by itself",
        )
    if not printed.samples:
        raise _nothing_kept(results, reader, reading, reported.where)
    if reported.before:
        _require_own(results, reported, printed)
    return printed


def what_was_read(results: Results, reported: Reported) -> str:
    """Say what a harness printed before its trial failed; empty if that cannot be read."""
    try:
        reader, reading = _reading(results, reported)
        return _printed(results, reader, reading, reported.where, ()).said
    except TrialError:
        return ""


def _reading(results: Results, reported: Reported) -> tuple[Reader, Reading]:
    reported.require_content()
    try:
        for data in dict.fromkeys((reported.data, reported.heading + reported.data)):
            content = Content(Path(reported.where), data)
            if (reader := _reader(results.format, content)) is not None:
                return reader, reader.reading(content)
        if is_archive(reported.data):
            return _folder(results.format, reported)
        raise _other(results.format, Content(Path(reported.where), reported.data), reported.where)
    except AnalysisError as error:
        raise TrialError(error.message, hint=error.hint) from error


def _folder(wanted: str, reported: Reported) -> tuple[Reader, Reading]:
    """Read a folder that came as an archive."""
    with vanishing_folder("trialwise-") as place:
        unpack(reported.data, place)
        folder = place / Path(reported.where).name
        try:
            found = recognised_folder(folder)
            if found is None or (wanted != "auto" and found[0] not in readers_named(wanted)):
                raise _no_folder(wanted, reported.where, None if found is None else found[0])
            return found[0], found[0].reading(found[1])
        except AnalysisError as error:
            raise TrialError(error.message.replace(str(folder), reported.where), hint=error.hint) from error


def _no_folder(wanted: str, where: str, found: Reader | None) -> TrialError:
    what = "of no format that is read here" if found is None else f"what {found.tool} writes ({found.name})"
    known = sorted(reader.name for reader in readers() if reader.parts is not None)
    return TrialError(
        f"{where} is a folder, {what}; results.format is {wanted!r}",
        hint=f"folders of these formats are read: {', '.join(known)}; for others name the file",
    )


def _reader(wanted: str, content: Content) -> Reader | None:
    if wanted == "auto":
        return recognised(content)
    return next((each for each in readers_named(wanted) if each.fits(content)), None)


def _other(wanted: str, content: Content, where: str) -> TrialError:
    known = recognised(content)
    begin = visible(" ".join(content.head[:400].split())[:60])
    if wanted == "auto":
        return TrialError(
            f"{where} is of no format that is read here; it begins with {begin!r}",
            hint=f"formats: {', '.join(families())}",
        )
    if known is not None:
        return TrialError(
            f"{where} is not what results.format = {wanted!r} reads: it looks like what {known.tool} writes ({known.name})",
            hint=f'write format = "{known.name}", or have the harness print what it is to',
        )
    how = readers_named(wanted)[0]
    return TrialError(
        f"{where} is not what results.format = {wanted!r} reads; it begins with {begin!r}",
        hint=f"{how.tool} writes it with {how.how}",
    )


def _printed(
    results: Results, reader: Reader, reading: Reading, where: str, taken: Collection[str]
) -> Printed:
    sources: dict[str, ResultSource] = {}
    values: dict[str, list[float]] = {}
    benchmarks: set[str] = set()
    for benchmark, row in _named(reader, reading):
        name = _metric_name(benchmark, row.metric)
        if row.value is None or row.status == "failed" or not results.keeps(benchmark, name):
            continue
        source = ResultSource(name, visible(short_unit(row.unit)), row.better)
        if sources.setdefault(name, source) != source:
            raise TrialError(f"{where}: {name} is {sources[name].told} and {source.told}")
        _check_name(source, where, taken, len(sources))
        benchmarks.add(benchmark)
        values.setdefault(source.key, []).extend(row.repetitions)
    remarks = tuple(f"[results] {note.text}" for note in reading.notes if note.code in _SAID)
    samples = {key: Samples(np.array(found)) for key, found in values.items()}
    return Printed(samples, len(benchmarks), remarks)


def _check_name(source: ResultSource, where: str, taken: Collection[str], number: int) -> None:
    if source.name in taken:
        raise TrialError(
            f"{where} has a metric {source.name}, as [metrics] has",
            hint="give that of [metrics] another name",
        )
    if len(source.name) > MOST_LETTERS or "|" in source.unit:
        raise TrialError(f"{where}: {source.name[:80]}…: no name or unit of a metric")
    if number > MOST_METRICS:
        raise TrialError(
            f"{where} holds more than {MOST_METRICS:,} metrics", hint="say with results.keep which to keep"
        )


def _named(reader: Reader, reading: Reading) -> Iterator[tuple[str, Row]]:
    """Yield the rows, each with the name of its benchmark: what the harness calls it, and its parameters as name=level."""
    levels: dict[str, set[str | None]] = {
        name: {row.treatment.get(name) for row in reading.rows} for name in reader.context
    }
    around = {name for name, found in levels.items() if len(found) == 1}
    for row in reading.rows:
        own = {
            factor: level
            for factor, level in row.treatment.items()
            if factor not in around and (not reading.named or factor in reading.named)
        }
        yield _benchmark(own, reader.subjects), row


def _benchmark(levels: Mapping[str, str], subjects: Collection[str]) -> str:
    bare = [*subjects, *levels][-1:] if len(levels) == 1 else [*subjects][-1:]
    parts = [level if factor in bare else f"{factor}={level}" for factor, level in levels.items()]
    return visible("/".join(parts))


def _metric_name(benchmark: str, metric: str) -> str:
    return f"{benchmark}:{visible(metric)}" if benchmark else visible(metric)


def _nothing_kept(results: Results, reader: Reader, reading: Reading, where: str) -> TrialError:
    there = list(dict.fromkeys(_metric_name(name, row.metric) for name, row in _named(reader, reading)))
    if all(row.value is None for row in reading.rows):
        why = next((row.reason for row in reading.rows if row.reason), "")
        return TrialError(f"{where} holds no value{f': {why}' if why else ''}")
    hint = nearest(results.keep[0], there) or f"there are {', '.join(there[:5])}"
    return TrialError(f"{where} holds nothing that results.keep = {list(results.keep)} matches", hint=hint)


def _require_own(results: Results, reported: Reported, printed: Printed) -> None:
    """Raise `TrialError` if the harness added to a file that it wrote anew, so that values of earlier trials stand in it."""
    try:
        earlier = read_results(results, Reported(reported.before, reported.where)).samples
    except TrialError:
        return
    for key, samples in printed.samples.items():
        if key in earlier:
            require_own(reported.where, earlier[key], samples)
