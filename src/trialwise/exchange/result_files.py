"""Results of other tools by what they are: which tool wrote a file or folder, and its trials."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange import hyperfine_json, pyperf_json
from trialwise.exchange.pantheon_archive import is_packed, packed_trials
from trialwise.exchange.pantheon_folder import is_pantheon_folder, pantheon_trials, perf_trials, read_perf
from trialwise.exchange.trials_table import TrialColumns, table_trials

KNOWN = "an experiment directory, a Pantheon folder (also packed), JSON of hyperfine or pyperf, or a table (CSV or Parquet)"
_GZIP = b"\x1f\x8b"
_Form = TypeVar("_Form", bound=BaseModel)


def read_trials(path: Path, columns: TrialColumns | None = None) -> TrialSet:
    """The trials of a file or folder that another tool wrote; `columns` say what is what in a table.

    Raises
    ------
    AnalysisError
        There is no such file, no tool that is known wrote it, or it holds no value.
    """
    name = str(path)
    if path.is_dir():
        return _folder(path, name)
    if not path.exists():
        raise AnalysisError(f"{path}: no such file or directory", hint=f"name {KNOWN}")
    if is_packed(path):
        return packed_trials(path, name)
    document = _json(path)
    if document is None:
        return table_trials(path, columns or TrialColumns(), name)
    if columns is not None and columns != TrialColumns():
        raise AnalysisError(f"{path}: is JSON; --value and the like are for tables")
    return _document(path, document, name)


def _folder(path: Path, name: str) -> TrialSet:
    try:
        empty, pantheon = not any(path.iterdir()), is_pantheon_folder(path)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error.strerror}") from error
    if pantheon:
        return pantheon_trials(path, name)
    said = "the folder is empty" if empty else "is neither an experiment directory nor a Pantheon folder"
    raise AnalysisError(f"{path}: {said}", hint=f"name {KNOWN}")


def _json(path: Path) -> object | None:
    """The document in a file, of which the first sign is that of an object or a list; None where it is no JSON."""
    try:
        content = path.read_bytes() if path.stat().st_size else b""
        if content.startswith(_GZIP) and path.name.endswith(".json.gz"):
            content = gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise AnalysisError(f"{path}: cannot be read: {error}") from error
    if path.suffix != ".json" and content.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        return json.loads(content)
    except ValueError as error:
        if path.suffix == ".json" or path.name.endswith(".json.gz"):
            raise AnalysisError(
                f"{path}: is no whole JSON document: {error}", hint="was the program that wrote it stopped?"
            ) from error
        return None


def _document(path: Path, document: object, name: str) -> TrialSet:
    if isinstance(document, Mapping):
        known = cast("Mapping[str, Any]", document)
        for fits, read in _KINDS:
            if fits(known):
                return read(path, known, name)
        if tool := _foreign(known):
            raise AnalysisError(
                f"{path}: is a result of {tool}, which is not read",
                hint="write its values as a CSV file with a row for each trial",
            )
    raise AnalysisError(f"{path}: is no result of a tool that is known", hint=f"name {KNOWN}")


def _is_hyperfine(document: Mapping[str, Any]) -> bool:
    return _entries(document, "results", "command")


def _is_pyperf(document: Mapping[str, Any]) -> bool:
    return "version" in document and _entries(document, "benchmarks", "runs")


def _is_perf(document: Mapping[str, Any]) -> bool:
    """Scheme, run, flow."""
    for runs in document.values():
        if isinstance(runs, Mapping):
            for flows in cast("Mapping[str, Any]", runs).values():
                return isinstance(flows, Mapping) and "all" in flows
    return False


def _entries(document: Mapping[str, Any], key: str, within: str) -> bool:
    entries = document.get(key)
    return isinstance(entries, list) and all(
        isinstance(entry, Mapping) and within in entry for entry in cast("list[object]", entries)
    )


def _foreign(document: Mapping[str, Any]) -> str | None:
    if "machine_info" in document and "benchmarks" in document:
        return "pytest-benchmark"
    if "context" in document and "benchmarks" in document:
        return "Google Benchmark"
    if "start" in document and "intervals" in document:
        return "iperf3"
    return "flent" if "x_values" in document else None


def _hyperfine(path: Path, document: Mapping[str, Any], name: str) -> TrialSet:
    return hyperfine_json.hyperfine_trials(_valid(hyperfine_json.Document, path, document, "hyperfine"), name)


def _pyperf(path: Path, document: Mapping[str, Any], name: str) -> TrialSet:
    return pyperf_json.pyperf_trials(_valid(pyperf_json.Document, path, document, "pyperf"), name)


def _perf(path: Path, _: Mapping[str, Any], name: str) -> TrialSet:
    return perf_trials(read_perf(path), name)


def _valid(form: type[_Form], path: Path, document: object, tool: str) -> _Form:
    try:
        return form.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise AnalysisError(
            f"{path}: looks like {tool}'s, but {where}: {first['msg']}", hint=f"write it anew with {tool}"
        ) from error


_Fits = Callable[[Mapping[str, Any]], bool]
_Reads = Callable[[Path, Mapping[str, Any], str], TrialSet]
_KINDS: tuple[tuple[_Fits, _Reads], ...] = (
    (_is_hyperfine, _hyperfine),
    (_is_pyperf, _pyperf),
    (_is_perf, _perf),
)
