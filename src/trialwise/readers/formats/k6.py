"""k6's `--summary-export`, `handleSummary`, `--out json` and `--out csv`; a file is a trial, and requests are its samples.

In an exported summary, a threshold that is true was crossed; in `handleSummary`, `ok: true` means that it held. In both, the passes of
`http_req_failed` are requests that failed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from trialwise.late import pl
from trialwise.readers.appended import apart_at, documents_apart
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.json_columns import frames, moments
from trialwise.readers.lines import number
from trialwise.readers.parts import Part
from trialwise.readers.records import Better, Inside
from trialwise.readers.trial import Trial, add_quantiles, mean, sum_of

_PERCENT = re.compile(r"^p\((\d{1,3}(?:\.\d{1,9})?)\)$")
_TIMES = ("http_req_", "iteration_duration", "group_duration", "ws_", "grpc_", "browser_")
"""How the names of k6's own trends begin, which are times."""
_OF_ITERATIONS = frozenset(("iteration_duration", "group_duration"))
_COUNTERS: dict[str, tuple[str, str, Better]] = {
    "http_reqs": ("requests", "1/s", "higher"),
    "iterations": ("iterations", "1/s", "higher"),
    "data_received": ("data_received", "byte/s", "higher"),
    "data_sent": ("data_sent", "byte/s", "higher"),
}
_FAILED = "http_req_failed"
_CHECKS = "checks"
_RATES = (_CHECKS, _FAILED)
_SHORTEST = 100.0
"""Seconds of which a rate is known within one per cent, where times are whole seconds."""
_DECLARED = b'"type":"Metric"'
_METRIC = re.compile(rb'"metric":"([^"]{1,200})"')
_LONGEST = 4000
_HEADER = "metric_name,timestamp,metric_value,"


def _is_export(content: Content) -> bool:
    return "metrics" in content.keys and not _is_handled(content) and _has_requests(content)


def _is_handled(content: Content) -> bool:
    return any("values" in metric and "type" in metric for _, metric in _metrics(content))


def _has_requests(content: Content) -> bool:
    names = {name for name, _ in _metrics(content)}
    return bool({"root_group", "state"} & set(content.keys)) or bool(
        {"http_reqs", "iteration_duration", "vus_max"} & names
    )


def _metrics(content: Content) -> list[tuple[str, Part]]:
    return list(Part(content.keys)["metrics"].members())


def _read_export(content: Content, found: Found) -> None:
    metrics = _metrics(content)
    own = [name for name, metric in metrics if "avg" in metric and not name.startswith(_TIMES)]
    _add_metrics(found, dict(metrics), dict.fromkeys((name for name, _ in metrics if name not in own), "ms"))
    for name, metric in metrics:
        for threshold, crossed in metric["thresholds"].members():
            if crossed.value is True:
                found.gather("threshold_crossed", f"{name} {threshold}")


def _read_handled(content: Content, found: Found) -> None:
    document = Part(content.keys)
    unit = document["options"]["summaryTimeUnit"].text or "ms"
    metrics = _metrics(content)
    times = [name for name, metric in metrics if metric["contains"].text == "time"]
    _add_metrics(found, {name: metric["values"] for name, metric in metrics}, dict.fromkeys(times, unit))
    for name, metric in metrics:
        for threshold, told in metric["thresholds"].members():
            if told["ok"].value is False:
                found.gather("threshold_crossed", f"{name} {threshold}")


def _add_metrics(found: Found, metrics: dict[str, Part], units: dict[str, str]) -> None:
    """Add each metric by the form of its values, trends in their units; submetrics such as `name{tag:x}` are parts of others."""
    trial = Trial(found=found)
    requests = metrics.get("http_reqs", Part(None))["count"].number
    iterations = metrics.get("iterations", Part(None))["count"].number
    for name, values in metrics.items():
        if "{" in name:
            continue
        if "avg" in values:
            count = iterations if name in _OF_ITERATIONS else requests
            _add_trend(trial, name, values, units.get(name, ""), count if name.startswith(_TIMES) else None)
        elif "rate" in values and "count" in values:
            metric, own, better = _COUNTERS.get(name, (name, "1/s", None))
            trial.add(metric, values["rate"].number, own, better)
        elif _is_rate(values) and name != _FAILED:
            share = values["rate" if "rate" in values else "value"].number
            trial.add(name, share, "1", "higher" if name == _CHECKS else None)
    failed = metrics.get(_FAILED, Part(None))
    trial.add_errors(failed["passes"].number, requests)


def _is_rate(values: Part) -> bool:
    return "passes" in values and "fails" in values


def _add_trend(trial: Trial, name: str, values: Part, unit: str, n: float | None) -> None:
    if not unit:
        trial.found.gather("unit_unknown", name)
        trial.add(f"{name}_mean", values["avg"].number, "")
        return
    trial.add(f"{name}_mean", values["avg"].number, unit, "lower")
    trial.add_known(f"{name}_max", values["max"].number, unit, "lower")
    trial.add_quantile(name, 50, values["med"].number, unit, n)
    for key, value in values.members():
        if (told := _PERCENT.match(key)) is not None and 0 < float(told[1]) < 100:
            trial.add_quantile(name, float(told[1]), value.number, unit, n)


@dataclass(frozen=True, slots=True)
class _Points:
    """The points of one metric: Unix seconds, None where unknown, and values."""

    kind: str
    is_time: bool
    times: list[float | None] = field(default_factory=list[float | None])
    values: list[float] = field(default_factory=list[float])


_TEXT = pl.String()
_SCHEMA = {
    "metric": _TEXT,
    "type": _TEXT,
    "data": pl.Struct({"time": _TEXT, "value": pl.Float64, "type": _TEXT, "contains": _TEXT}),
}


def _points_apart(content: Content) -> Sequence[Content]:
    """Divide the lines where a metric is declared again: there the next run begins."""
    data, begins = content.lined, [0]
    declared: set[bytes] = set()
    place = data.find(_DECLARED)
    while place >= 0:
        begin, end = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
        line = data[begin : end if 0 <= end - begin < _LONGEST else begin + _LONGEST]
        metric = _METRIC.search(line)
        name = b"" if metric is None else metric[1]
        if name in declared:
            begins.append(begin)
            declared.clear()
        declared.add(name)
        place = data.find(_DECLARED, place + 1)
    if len(begins) == 1:
        return [content]
    return [Content(content.path, data[begin:end]) for begin, end in pairwise([*begins, len(data)])]


def _is_points(content: Content) -> bool:
    return content.keys.get("type") in ("Metric", "Point") and "metric" in content.keys


def _read_points(content: Content, found: Found) -> None:
    """Read the points: each request gives one of each of nine metrics, and its failure is a metric of its own."""
    metrics: dict[str, _Points] = {}
    for frame in frames(content.documents.whole, _SCHEMA, _members):
        _gather(metrics, frame.rename({"type": "line"}).unnest("data"))
    if content.documents.rest:
        found.note("partial", what="the last line has no end")
    _add_points(found, metrics)


def _members(document: object) -> dict[str, object]:
    line = Part(document)
    data = line["data"]
    return {
        "metric": line["metric"].text,
        "type": line["type"].text,
        "data": {
            "time": data["time"].text,
            "value": data["value"].number,
            "type": data["type"].text,
            "contains": data["contains"].text,
        },
    }


def _gather(metrics: dict[str, _Points], lines: pl.DataFrame) -> None:
    """Add the points of lines to their metrics; one whose points come before it has no kind."""
    is_metric = pl.col("line").eq_missing("Metric")
    told = lines.filter(is_metric | pl.col("value").is_not_null())
    for (name,), own in told.group_by("metric", maintain_order=True):
        first = own.row(0, named=True) if own["line"][0] == "Metric" else {}
        kept = metrics.setdefault(
            str(name or ""), _Points(first.get("type") or "", first.get("contains") == "time")
        )
        points = own.filter(~is_metric)
        kept.times.extend(moments(points["time"]))
        kept.values.extend(points["value"].to_list())


def _is_table(content: Content) -> bool:
    return not content.is_binary and content.head.startswith(_HEADER)


def _read_table(content: Content, found: Found) -> None:
    """Read the points from CSV, which does not say what kinds metrics are: those of others than k6 itself are left out."""
    metrics: dict[str, _Points] = {}
    unknown: dict[str, None] = {}
    for line, cells in enumerate(csv.reader(content.lines[1:]), 2):
        moment, value = (number(cell) for cell in (*cells[1:3], "", "")[:2])
        if moment is None or value is None:
            found.note("partial", what=f"line {line} has too few columns")
            continue
        name = cells[0]
        is_time = name.startswith(_TIMES) and name != _FAILED
        kind = "trend" if is_time else "counter" if name in _COUNTERS else "rate" if name in _RATES else ""
        if not kind:
            unknown[name] = None
            continue
        own = metrics.setdefault(name, _Points(kind, is_time))
        own.times.append(moment)
        own.values.append(value)
    if unknown:
        found.remark(
            f"the file does not say what these metrics are, which are left out: {', '.join(unknown)}"
        )
    found.note("coarse_clock", what="1 s")
    _add_points(found, metrics, _SHORTEST)


def _add_points(found: Found, metrics: Mapping[str, _Points], shortest: float = 0.0) -> None:
    """Add all metrics, rates if the points lie over more than the `shortest` seconds."""
    moments = [moment for own in metrics.values() for moment in own.times if moment is not None]
    trial = Trial(found=found, start=min(moments, default=None), end=max(moments, default=None))
    seconds = max(moments) - min(moments) if moments else 0.0
    for name, own in metrics.items():
        if not own.values:
            continue
        if own.kind == "trend":
            _add_samples(trial, name, own)
        elif own.kind == "rate" and name != _FAILED:
            trial.add(name, mean(own.values), "1", "higher" if name == _CHECKS else None)
        elif own.kind == "counter" and seconds > shortest:
            _add_rate(trial, name, own.values, seconds)
    failures = metrics[_FAILED].values if _FAILED in metrics else []
    trial.add_errors(sum(value != 0 for value in failures) if failures else None, len(failures))


def _add_samples(trial: Trial, name: str, points: _Points) -> None:
    scale, unit = (1e-3, "s") if points.is_time else (1.0, "")
    values = [value * scale for value in points.values]
    times = [moment for moment in points.times if moment is not None]
    what = "iteration" if name in _OF_ITERATIONS else "request"
    samples = Inside(what, values, times if len(times) == len(values) else None)
    trial.add(f"{name}_mean", mean(values), unit, "lower" if unit else None, samples=samples)
    if unit:
        add_quantiles(trial, name, values, unit)


def _add_rate(trial: Trial, name: str, values: Sequence[float], seconds: float) -> None:
    metric, unit, better = _COUNTERS.get(name, (name, "1/s", None))
    trial.add(metric, sum_of(values) / seconds, unit, better)


READERS = (
    Reader(
        name="k6-summary-export",
        tool="k6",
        how="`k6 run --summary-export FILE`",
        replicated="file",
        unit="file",
        fits=_is_export,
        read=_read_export,
        runs=documents_apart,
    ),
    Reader(
        name="k6-handle-summary",
        tool="k6",
        how="`handleSummary` with `JSON.stringify(data)`",
        replicated="file",
        unit="file",
        fits=_is_handled,
        read=_read_handled,
        runs=documents_apart,
    ),
    Reader(
        name="k6-json-lines",
        tool="k6",
        how="`k6 run --out json=FILE`",
        replicated="file",
        unit="file",
        fits=_is_points,
        read=_read_points,
        runs=_points_apart,
    ),
    Reader(
        name="k6-csv",
        tool="k6",
        how="`k6 run --out csv=FILE`",
        replicated="file",
        unit="file",
        fits=_is_table,
        read=_read_table,
        runs=apart_at(_HEADER),
    ),
)
