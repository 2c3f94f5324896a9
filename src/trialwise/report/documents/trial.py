"""What `trialwise status --trial` says: how one attempt went, and what is kept of what it printed and wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trialwise.experiment.quantity import duration_text
from trialwise.report.document import Block, Document, Items, Listing, Name, Note, Outcome, Verdict, table_of
from trialwise.report.numbers import counted
from trialwise.visible import visible

if TYPE_CHECKING:
    from trialwise.study.documents import OutputDocument, TrialDocument

MOST_LINES = 20
"""Lines of the end of each output that are shown."""
MOST_FILES = 30
"""Kept files that are named."""
_OUTCOMES: Mapping[str, Outcome] = {"finished": "good", "failed": "bad", "invalid": "bad"}
_LONGEST_LINE = 500


def document(trial: TrialDocument, texts: Mapping[str, bytes]) -> Document:
    """Return how an attempt went, what it reported and what is kept; `texts` are its outputs as far as kept."""
    said = f": {trial.reason}" if trial.reason else ""
    verdict = Verdict(
        _OUTCOMES.get(trial.status, "plain"),
        (f"trial {trial.number}.{trial.attempt} ", Name(trial.treatment), f" {trial.status}", Name(said)),
    )
    evidence = (Items(tuple((line,) for line in _facts(trial)), most=None), *_values(trial))
    outputs = (block for output in trial.outputs for block in _output(output, texts[output.name]))
    return Document("trial", verdict, (*evidence, *outputs, *_files(trial), *_log(trial)))


def _facts(trial: TrialDocument) -> Iterator[str]:
    yield f"series {trial.series}, round {trial.round}, position {trial.position}, seed {trial.seed}"
    if trial.attempts > 1:
        yield f"{trial.attempts} attempts have begun; --attempt shows another"
    if trial.worker not in (None, "local"):
        yield f"on {trial.worker}"
    if trial.started is not None and trial.finished is not None:
        moment = datetime.fromtimestamp(trial.started, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        yield f"began {moment}, took {duration_text(max(trial.finished - trial.started, 0.0))}"
    if trial.exit_code is not None:
        yield f"exit code {trial.exit_code}"


def _values(trial: TrialDocument) -> Iterator[Block]:
    if trial.values:
        rows = [
            (
                Name(each.source),
                f"{each.value!r}" if each.value is not None else counted(each.samples, "value"),
            )
            for each in trial.values
        ]
        yield table_of("values", "What it reported:", ("source", "value"), rows, (1,))


def _output(output: OutputDocument, text: bytes) -> Iterator[Block]:
    named = "standard output" if output.name == "stdout" else "standard error"
    lines = [visible(line)[:_LONGEST_LINE] for line in text.decode(errors="replace").splitlines()]
    cut = ", its beginning and its end" if output.cut else ""
    part = f"the last {MOST_LINES} of {counted(len(lines), 'line')}" if len(lines) > MOST_LINES else "whole"
    if output.bytes:
        caption = (f"{named} ({part}), kept in {output.file}{cut}:",)
        yield Listing(tuple(lines[-MOST_LINES:]), caption)
    else:
        yield Note((f"{named}: empty",), is_aside=True)


def _files(trial: TrialDocument) -> Iterator[Block]:
    if trial.archive is None:
        return
    rows = [(Name(each.name), f"{each.bytes:,}") for each in trial.files]
    files = table_of("files", f"Kept in {trial.archive}:", ("file", "bytes"), rows, (1,))
    yield replace(files, most=MOST_FILES)
    yield Note(("--unpack FOLDER writes them, and the outputs, into a new folder",), is_aside=True)


def _log(trial: TrialDocument) -> Iterator[Block]:
    if trial.log is not None:
        yield Note((f"why it did not finish also stands in {trial.log}",), is_aside=True)
