"""What YCSB prints (`measurements/exporter/TextMeasurementsExporter`); a file is a trial. Its workload is not in it.

Operations that did not return OK have blocks of their own (`DBWrapper.measure`): `READ-FAILED`, or one for each status, as
`READ-NOT_FOUND`, where `reportlatencyforeacherror` or `latencytrackederrors` asks for that. How fast they failed is no latency.
"""

from __future__ import annotations

import re
from dataclasses import replace

from trialwise.readers.appended import apart_at
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import lines_of, matches, number
from trialwise.readers.trial import Trial

_SIGNATURE = re.compile(r"^\[OVERALL\], RunTime\(ms\), ", re.MULTILINE)
_LINE = re.compile(r"^\[([^\]]{1,200})\], ([^,]{1,200}), (\S{1,60})$")
_PERCENT = re.compile(r"^(\d{1,3}(?:\.\d{1,6})?)(?:th|st|nd|rd)?PercentileLatency\((us|ms)\)$")
_LATENCY = re.compile(r"^(Average|Max)Latency\((us|ms)\)$")
_NO_OPERATION = re.compile(r"^(?:OVERALL|CLEANUP|TOTAL_GC.*|TOTAL_MAX.*|Total_.*)$")
_OK = frozenset({"OK", "BATCHED_OK", "0"})
"""What operations return that succeeded; version 0.1 has numbers."""
_FAILURES = frozenset(
    {
        "FAILED",
        "ERROR",
        "NOT_FOUND",
        "NOT_IMPLEMENTED",
        "UNEXPECTED_STATE",
        "BAD_REQUEST",
        "FORBIDDEN",
        "SERVICE_UNAVAILABLE",
    }
)
_METRICS = {"Average": "latency_mean", "Max": "latency_max"}


def _fits(content: Content) -> bool:
    return not content.is_binary and _SIGNATURE.search(content.head) is not None


def _read(content: Content, found: Found) -> None:
    told: dict[str, dict[str, str]] = {}
    for line in matches(_LINE, lines_of(content)):
        told.setdefault(line[1], {})[line[2]] = line[3]
    trial = Trial(found=found)
    trial.add("throughput", number(told.get("OVERALL", {}).get("Throughput(ops/sec)", "")), "1/s", "higher")
    operations: dict[str, dict[str, str]] = {}
    apart: dict[str, float] = {}
    for name, values in told.items():
        if (operation := _failed_operation(name, told)) is not None:
            apart[operation] = apart.get(operation, 0.0) + _count(values)
        elif not _NO_OPERATION.match(name):
            operations[name] = values
    errors = total = 0.0
    for operation in dict.fromkeys((*operations, *apart)):
        values = operations.get(operation, {})
        failed = max(apart.get(operation, 0.0), _returned(values))
        # Only where failures stand apart, the operation's own block is without them.
        done = _count(values) if operation in apart else max(_count(values) - failed, 0.0)
        own = replace(trial, treatment={"operation": operation})
        _add_operation(own, values, f"all {failed:.0f} operations failed" if failed and not done else "")
        errors, total = errors + failed, total + failed + done
    trial.add_errors(errors, total)


def _failed_operation(name: str, told: dict[str, dict[str, str]]) -> str | None:
    """Return the operation whose failures a block has; None if it is no such block (`READ-MODIFY-WRITE` is an operation)."""
    operation, _, status = name.rpartition("-")
    is_failure = status in _FAILURES or f"Return={status}" in told.get(operation, {})
    return operation if operation and is_failure else None


def _returned(values: dict[str, str]) -> float:
    """Count what did not return OK."""
    told = (key.removeprefix("Return=") for key in values if key.startswith("Return="))
    return sum(number(values[f"Return={status}"]) or 0.0 for status in told if status not in _OK)


def _count(values: dict[str, str]) -> float:
    return number(values.get("Operations", "")) or 0.0


def _add_operation(trial: Trial, values: dict[str, str], reason: str) -> None:
    count = _count(values)
    if reason:
        trial.add("latency_mean", None, "us", "lower", reason=reason)
        return
    for name, value in values.items():
        if (latency := _LATENCY.match(name)) is not None and count:
            trial.add(_METRICS[latency[1]], number(value), latency[2], "lower")
        elif (percent := _PERCENT.match(name)) is not None and 0 < float(percent[1]) < 100:
            trial.add_quantile("latency", float(percent[1]), number(value), percent[2], count)


READERS = (
    Reader(
        name="ycsb-text",
        tool="YCSB",
        how="`ycsb run DB -P WORKLOAD`, printed into a file",
        replicated="file",
        unit="file",
        fits=_fits,
        read=_read,
        runs=apart_at(_SIGNATURE),
    ),
)
