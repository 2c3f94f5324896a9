"""What YCSB prints (`measurements/exporter/TextMeasurementsExporter`); a file is a trial. Its workload is not in it."""

from __future__ import annotations

import re
from dataclasses import replace

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import lines_of, matches, number
from trialwise.readers.trial import Trial

_SIGNATURE = re.compile(r"^\[OVERALL\], RunTime\(ms\), ", re.MULTILINE)
_LINE = re.compile(r"^\[([^\]]{1,200})\], ([^,]{1,200}), (\S{1,60})$")
_PERCENT = re.compile(r"^(\d{1,3}(?:\.\d{1,6})?)(?:th|st|nd|rd)?PercentileLatency\((us|ms)\)$")
_LATENCY = re.compile(r"^(Average|Max)Latency\((us|ms)\)$")
_NO_OPERATION = re.compile(r"^(?:OVERALL|CLEANUP|TOTAL_GC.*|TOTAL_MAX.*|Total_.*|.*-FAILED)$")
_METRICS = {"Average": "latency_mean", "Max": "latency_max"}


def _fits(content: Content) -> bool:
    return not content.is_binary and _SIGNATURE.search(content.head) is not None


def _read(content: Content, found: Found) -> None:
    told: dict[str, dict[str, str]] = {}
    for line in matches(_LINE, lines_of(content)):
        told.setdefault(line[1], {})[line[2]] = line[3]
    trial = Trial(found=found)
    trial.add("throughput", number(told.get("OVERALL", {}).get("Throughput(ops/sec)", "")), "1/s", "higher")
    operations = {name: values for name, values in told.items() if not _NO_OPERATION.match(name)}
    for operation, values in operations.items():
        _add_operation(replace(trial, treatment={"operation": operation}), values)
    _add_failures(trial, told, operations)


def _add_operation(trial: Trial, values: dict[str, str]) -> None:
    count = number(values.get("Operations", ""))
    for name, value in values.items():
        if (latency := _LATENCY.match(name)) is not None and count:
            trial.add(_METRICS[latency[1]], number(value), latency[2], "lower")
        elif (percent := _PERCENT.match(name)) is not None and 0 < float(percent[1]) < 100:
            trial.add_quantile("latency", float(percent[1]), number(value), percent[2], count)


def _add_failures(
    trial: Trial, told: dict[str, dict[str, str]], operations: dict[str, dict[str, str]]
) -> None:
    """Add what did not return OK; operations that failed stand also in a block of their own."""
    failed = total = 0.0
    for name, values in operations.items():
        returned = sum(
            number(value) or 0
            for key, value in values.items()
            if key.startswith("Return=") and key not in ("Return=OK", "Return=BATCHED_OK")
        )
        block = number(told.get(f"{name}-FAILED", {}).get("Operations", "")) or 0
        failed += max(returned, block)
        total += max(number(values.get("Operations", "")) or 0, returned)
    for name, values in told.items():
        if name.endswith("-FAILED") and name.removesuffix("-FAILED") not in operations:
            count = number(values.get("Operations", "")) or 0
            failed, total = failed + count, total + count
    trial.add_errors(failed, total)


READERS = (
    Reader(
        name="ycsb-text",
        tool="YCSB",
        how="`ycsb run DB -P WORKLOAD`, printed into a file",
        replicated="file",
        unit="file",
        fits=_fits,
        read=_read,
    ),
)
