"""Check of placeholders in the texts of a document: all are known, and every factor is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from trialwise.errors import PlanError
from trialwise.experiment.file import document as doc
from trialwise.experiment.file.positions import Key
from trialwise.experiment.file.sections import Section, keys_of
from trialwise.experiment.path_building import path_texts
from trialwise.experiment.placeholders import BUILT_IN, COLLECTOR, names_in
from trialwise.experiment.problems import Problems, nearest
from trialwise.experiment.text import frozen_or_named, read_text


def check_placeholders(document: doc.Document, path: Path, problems: Problems) -> None:
    """Note every unknown placeholder, every use of an unseen factor, and every factor that no text uses."""
    factors = list(document.factors)
    used: set[str] = set()
    known = [*factors, *BUILT_IN]
    unseen = set(document.design.unseen)
    for key, text, more in (
        *((key, text, ()) for key, text in _texts(document, ())),
        *((key, text, ()) for key, text in path_texts(document, problems)),
        *_stream_texts(document, path, problems),
    ):
        names = names_in(text)
        for unknown in sorted(names - set(known) - set(more)):
            _note_unknown(key, unknown, [*known, *more], problems)
        for name in sorted(names & unseen):
            problems.add(key, f"uses {{{name}}}, which design.unseen hides from what runs")
        used |= names
    if (places := document.trial.places) is not None:
        for unused in (name for name in factors if name not in used | unseen and name not in BUILT_IN):
            problems.add(
                ("factors", unused),
                "no text of the trial uses this factor, so all of its levels would run the same program",
                f"put {{{unused}}} into {places}, or name it in design.unseen",
            )


def _note_unknown(key: Key, unknown: str, known: Sequence[str], problems: Problems) -> None:
    meant = nearest(unknown, known)
    did = f" did you mean {{{meant}}}?" if meant else ""
    problems.add(
        key,
        f"{{{unknown}}} is neither a factor nor built in;{did} known here: {', '.join(known)}",
        f"write {{{{{unknown}}}}} for the literal text {{{unknown}}}",
    )


def _texts(value: object, place: Key, *, filled: bool = False) -> Iterator[tuple[Key, str]]:
    """Yield every text in which placeholders are filled, with its key."""
    if isinstance(value, Section):
        for name, field in keys_of(type(value)).items():
            yield from _texts(getattr(value, name), (*place, field.name), filled=field.key.filled)
    elif isinstance(value, Mapping):
        for name, inner in cast("Mapping[str, object]", value).items():
            yield from _texts(inner, (*place, name), filled=filled)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(cast("Sequence[object]", value)):
            if filled and isinstance(inner, tuple):
                yield from _texts(dict([cast("tuple[str, str]", inner)]), place, filled=True)
            else:
                yield from _texts(inner, place if filled else (*place, index), filled=filled)
    elif filled and isinstance(value, str) and value:
        yield place, value


def _stream_texts(
    document: doc.Document, path: Path, problems: Problems
) -> Iterator[tuple[Key, str, Sequence[str]]]:
    """Yield the texts of the streams file, in which the collector's address is filled too."""
    if document.measurement is None or document.measurement.config is None:
        return
    key = ("measurement", "config")
    try:
        yield key, read_text(frozen_or_named(path.parent, document.measurement.config)), (COLLECTOR,)
    except PlanError as error:
        problems.add(key, f"the file of streams: {error.message}")
