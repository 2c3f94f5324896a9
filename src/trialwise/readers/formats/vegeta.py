"""vegeta's `report -type json` and `encode` (JSON lines, CSV; `lib/results.go`); an attack of a file is a trial."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from trialwise.errors import AnalysisError
from trialwise.late import pl
from trialwise.readers.appended import documents_apart
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.json_columns import frames, moments
from trialwise.readers.lines import number
from trialwise.readers.parts import Part
from trialwise.readers.trial import Trial, add_requests, unanswered

_PERCENTS = {"50th": 50, "90th": 90, "95th": 95, "99th": 99}
_CSV = re.compile(r"\A\d{18,19},\d{1,4},\d{1,18},\d{1,18},\d{1,18},")
_CSV_FIELDS = 9
_GOB = 64
_SUCCESSES = [float(code) for code in range(200, 400)]
_NO_ANSWER = 0
"""The code of a request that was not answered."""


_TEXT, _NUMBER = pl.String(), pl.Float64()
_SCHEMA = {
    "attack": _TEXT,
    "seq": _NUMBER,
    "code": _NUMBER,
    "timestamp": _TEXT,
    "latency": _NUMBER,
    "error": _TEXT,
}
"""Of a request; nanoseconds."""
_REQUEST = {
    "attack": _TEXT,
    "seq": _NUMBER,
    "sent": _NUMBER,
    "latency": _NUMBER,
    "code": _NUMBER,
    "error": _TEXT,
}
"""Unix seconds and nanoseconds."""


def _is_report(content: Content) -> bool:
    return "status_codes" in content.keys and "99th" in Part(content.keys)["latencies"]


def _read_report(content: Content, found: Found) -> None:
    report = Part(content.keys)
    requests, latencies = report["requests"].number, report["latencies"]
    trial = Trial(found=found, start=report["earliest"].moment, end=report["end"].moment)
    codes = [(code, count.number or 0) for code, count in report["status_codes"].members()]
    answered = sum(count for code, count in codes if number(code) != _NO_ANSWER)
    reason = unanswered(answered, (error.text for error in report["errors"].entries())) if codes else ""
    trial.add("latency_mean", latencies["mean"].number, "ns", "lower", reason=reason)
    if not reason:
        trial.add_known("latency_max", latencies["max"].number, "ns", "lower")
        for name, percent in _PERCENTS.items():
            trial.add_quantile("latency", percent, latencies[name].number, "ns", requests)
    trial.add("throughput", report["throughput"].number, "1/s", "higher", reason=reason)
    failed = sum(count for code, count in codes if not _succeeded(number(code)))
    trial.add_errors(failed if codes else requests, requests)


def _succeeded(code: float | None) -> bool:
    return code is not None and code in _SUCCESSES


def _is_lines(content: Content) -> bool:
    return {"attack", "seq", "code", "latency"} <= set(content.keys)


def _read_lines(content: Content, found: Found) -> None:
    requests = [
        frame.with_columns(pl.Series("sent", moments(frame["timestamp"]), dtype=_NUMBER)).select(
            list(_REQUEST)
        )
        for frame in frames(content.documents.whole, _SCHEMA, _members)
    ]
    if content.documents.rest:
        found.note("partial", what="the last line has no end")
    _add_all(found, pl.concat(requests))


def _members(document: object) -> dict[str, object]:
    line = Part(document)
    return {name: line[name].text if kind == _TEXT else line[name].number for name, kind in _SCHEMA.items()}


def _is_csv(content: Content) -> bool:
    return not content.is_binary and _CSV.match(content.head) is not None


def _read_csv(content: Content, found: Found) -> None:
    _add_all(found, pl.DataFrame(list(_from_csv(content, found)), schema=_REQUEST, orient="row"))


def _from_csv(
    content: Content, found: Found
) -> Iterator[tuple[str, float | None, float, float, float | None, str]]:
    """Read the lines without header: Unix ns, code, latency in ns, bytes out and in, error, body, attack and more."""
    rows = csv.reader(content.lines)
    for line in range(1, len(content.lines) + 1):
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error:
            found.note("partial", what=f"line {line} cannot be read")
            return
        sent, code, latency = (number(row[place]) if len(row) >= _CSV_FIELDS else None for place in range(3))
        if sent is None or latency is None:
            found.note("partial", what=f"line {line} has too few columns")
            continue
        yield row[7], number(row[8]), sent / 1e9, latency, code, row[5]


def _add_all(found: Found, requests: pl.DataFrame) -> None:
    """Add each attack; lines are in order of completion, so samples are put in the order of sending."""
    error = pl.col("error").fill_null("")
    known = requests.drop_nulls(("sent", "latency")).with_columns(
        pl.col("attack").fill_null(""),
        failed=~pl.col("code").is_in(_SUCCESSES).fill_null(value=False) | (error != ""),
        unanswered=pl.when(pl.col("code").eq_missing(_NO_ANSWER))
        .then(pl.when(error == "").then(pl.lit("no answer")).otherwise(error))
        .otherwise(pl.lit("")),
    )
    for own in known.partition_by("attack", maintain_order=True):
        attacks = _attacks(own)
        for place, sent in enumerate(attacks):
            levels = {} if len(attacks) == 1 else {"process": place}
            _add_attack(found, own["attack"][0], sent.sort("sent", maintain_order=True), levels)


def _attacks(requests: pl.DataFrame) -> list[pl.DataFrame]:
    """Divide the requests of one name where further attacks were appended: each counts its requests from 0."""
    last = requests["seq"].max()
    if not isinstance(last, float) or last < 1 or len(requests) <= last + 1:
        return [requests]
    numbered = requests.with_columns(run=pl.col("seq").cum_count().over("seq"))
    return numbered.partition_by("run", maintain_order=True)


def _add_attack(found: Found, attack: str, sent: pl.DataFrame, levels: Mapping[str, object]) -> None:
    # NumPy divides; polars multiplies by the inverse, which is another number.
    seconds, began = sent["latency"].to_numpy() / 1e9, sent["sent"].to_numpy()
    first, last = float(began[0]), float((began + seconds).max())
    named = {"attack": attack} if attack else {}
    trial = Trial(found=found, treatment=named, levels=levels, start=first, end=last)
    why = sent["unanswered"].filter(sent["unanswered"] != "")
    reason = unanswered(len(sent) - len(why), why.head(1))
    add_requests(trial, "latency", seconds.tolist(), began.tolist(), reason)
    failed = int(sent["failed"].sum())
    if last > first:
        trial.add("throughput", (len(sent) - failed) / (last - first), "1/s", "higher", reason=reason)
    trial.add_errors(failed, len(sent))


def _is_gob(content: Content) -> bool:
    return b"Result" in content.data[:_GOB] and b"Attack" in content.data[:_GOB] and content.is_binary


def _refuse_gob(content: Content, found: Found) -> None:  # noqa: ARG001  a reader has both
    raise AnalysisError(
        f"{content.path}: is vegeta's binary format, which only vegeta reads",
        hint="convert it with `vegeta encode -to json`",
    )


def _reader(
    name: str, how: str, fits: Callable[[Content], bool], read: Callable[[Content, Found], None]
) -> Reader:
    return Reader(name=name, tool="vegeta", how=how, replicated="file", unit="file", fits=fits, read=read)


READERS = (
    replace(
        _reader("vegeta-report-json", "`vegeta report -type json`", _is_report, _read_report),
        runs=documents_apart,
    ),
    _reader("vegeta-json-lines", "`vegeta encode -to json`", _is_lines, _read_lines),
    _reader("vegeta-csv", "`vegeta encode -to csv`", _is_csv, _read_csv),
    replace(
        _reader("vegeta-gob", "`vegeta attack`, which only vegeta reads: convert it", _is_gob, _refuse_gob),
        holds_results=False,
    ),
)
