"""What sysbench prints (1.0 and 0.5); a file is a trial. Latencies have steps of 0.01 ms, so that 0.00 is no latency of 0."""

from __future__ import annotations

import re

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, first, lines_of, matches, runs
from trialwise.readers.records import Better, Inside
from trialwise.readers.trial import Trial

_BEGIN = re.compile(r"^sysbench (\d{1,3}\.\d{1,3}(?:\.\d{1,4})?)", re.MULTILINE)
_FATAL = re.compile(r"^(?:FATAL|ALERT): (.{1,300})")
_SAID = re.compile(r"^(?:FATAL|ALERT|WARNING): |^\s*$")
_THREADS = re.compile(rf"^Number of threads: ({COUNT})")
_TESTS = (
    ("cpu", re.compile(r"^(?:CPU speed:|Prime numbers limit: |.*CPU performance benchmark)")),
    ("memory", re.compile(r"^.*memory (?:operations )?speed test")),
    ("fileio", re.compile(r"^(?:File operations:|Extra file open flags)")),
    ("threads", re.compile(r"^Doing thread subsystem performance test")),
    ("mutex", re.compile(r"^Doing mutex performance test")),
    ("oltp", re.compile(r"^(?:SQL|OLTP test) statistics:")),
)
_RATES: tuple[tuple[str, re.Pattern[str], str, Better], ...] = (
    ("events", re.compile(rf"^ *(?:events per second|events/s \(eps\)): +({NUMBER})"), "1/s", "higher"),
    (
        "transactions",
        re.compile(rf"^ *transactions: +{COUNT} +\( *({NUMBER}) per sec\.\)"),
        "1/s",
        "higher",
    ),
    ("queries", re.compile(rf"^ *queries: +{COUNT} +\( *({NUMBER}) per sec\.\)"), "1/s", "higher"),
    (
        "operations",
        re.compile(
            rf"^(?:Total operations|Operations performed): {COUNT} \( *({NUMBER}) (?:per second|ops/sec)\)"
        ),
        "1/s",
        "higher",
    ),
    (
        "transfer",
        re.compile(rf"^{NUMBER} (?:MiB|MB) transferred \(({NUMBER}) (?:MiB|MB)/sec\)"),
        "MiB/s",
        "higher",
    ),
    ("reads", re.compile(rf"^ *reads/s: +({NUMBER})"), "1/s", "higher"),
    ("writes", re.compile(rf"^ *writes/s: +({NUMBER})"), "1/s", "higher"),
    ("fsyncs", re.compile(rf"^ *fsyncs/s: +({NUMBER})"), "1/s", "higher"),
    ("read", re.compile(rf"^ *read, MiB/s: +({NUMBER})"), "MiB/s", "higher"),
    ("written", re.compile(rf"^ *written, MiB/s: +({NUMBER})"), "MiB/s", "higher"),
    ("reconnects", re.compile(rf"^ *reconnects: +{COUNT} +\( *({NUMBER}) per sec\.\)"), "1/s", "lower"),
)
_TOTAL = re.compile(rf"^ *total number of events: +({COUNT})")
_SECONDS = re.compile(rf"^ *total time: +({NUMBER})s")
_ERRORS = re.compile(rf"^ *ignored errors: +({COUNT})")
_MEAN = re.compile(rf"^ *avg: +({NUMBER})(?:ms)?$")
_MAX = re.compile(rf"^ *max: +({NUMBER})(?:ms)?$")
_PERCENT = re.compile(rf"^ *(?:approx\. +)?({COUNT})(?:th)? percentile: +({NUMBER})(?:ms)?$")
_INTERVAL = re.compile(rf"^\[ *({NUMBER})s *\] (?:thds|threads): {COUNT},? (?:eps|tps): ({NUMBER})")

_SHORTEST = 0.005
"""Seconds of which a rate is known within one per cent: the total time has four digits."""


def _fits(content: Content) -> bool:
    return not content.is_binary and (_BEGIN.search(content.head) is not None or _is_refusal(content))


def _is_refusal(content: Content) -> bool:
    """Return True if there is nothing but why sysbench did not run."""
    lines = content.head.split("\n")
    return _FATAL.match(lines[0]) is not None and all(map(_SAID.match, lines))


def _read(content: Content, found: Found) -> None:
    if _is_refusal(content):
        _add_run(found, lines_of(content), {})
    for lines, levels in runs(content, _BEGIN):
        _add_run(found, lines, levels)


def _add_run(found: Found, lines: list[str], levels: dict[str, object]) -> None:
    version, fatal = _BEGIN.match(lines[0]), first(_FATAL, lines)
    found.version = found.version if version is None else version[1]
    test = next((name for name, pattern in _TESTS if first(pattern, lines)), "")
    if not test and version is not None:
        found.remark(
            "the text does not name the test that ran (threads, mutex or a script): with --verbosity=4 it does"
        )
    threads = first(_THREADS, lines)
    treatment = {"test": test, "threads": "" if threads is None else threads[1]}
    total = first(_TOTAL, lines)
    reason = "" if total is not None else "it ended before its summary" if fatal is None else fatal[1]
    trial = Trial(
        found=found,
        treatment={name: level for name, level in treatment.items() if level},
        levels=levels,
        reason=reason,
    )
    if reason:
        trial.add("events", None, "1/s", "higher", samples=_intervals(lines))
        return
    count = 0 if total is None else int(total[1])
    _add_rates(trial, lines, count)
    _add_latencies(trial, lines, count)
    if (errors := first(_ERRORS, lines)) is not None:
        trial.add_errors(int(errors[1]), count + int(errors[1]))


def _add_rates(trial: Trial, lines: list[str], total: int) -> None:
    """Add the rates, the first with its intervals; some tests print none, so that theirs is that of all events over the time."""
    samples = _intervals(lines)
    told = [(each, rate) for each in _RATES if (rate := first(each[1], lines)) is not None]
    for (metric, _, unit, better), rate in told:
        trial.add(metric, float(rate[1]), unit, better, samples=samples)
        samples = None
    if not told:
        seconds = first(_SECONDS, lines)
        elapsed = 0.0 if seconds is None else float(seconds[1])
        is_known = elapsed >= _SHORTEST
        if not is_known:
            trial.found.gather("rounded", f"0.1 ms: a rate over {elapsed:g} s is left out")
        trial.add("events", total / elapsed if is_known else None, "1/s", "higher", samples=samples)


def _add_latencies(trial: Trial, lines: list[str], total: int) -> None:
    told = [
        (metric, float(found[1]))
        for metric, pattern in (("latency_mean", _MEAN), ("latency_max", _MAX))
        if (found := first(pattern, lines))
    ]
    if any(value == 0 for _, value in told):
        trial.found.gather("rounded", "0.01 ms: a latency of 0.00 ms is left out")
    for metric, value in told:
        if value:
            trial.add(metric, value, "ms", "lower")
    for percent in matches(_PERCENT, lines):
        if 0 < int(percent[1]) < 100 and float(percent[2]):
            trial.add_quantile("latency", int(percent[1]), float(percent[2]), "ms", total)


def _intervals(lines: list[str]) -> Inside | None:
    told = list(matches(_INTERVAL, lines))
    if not told:
        return None
    return Inside("interval", [float(each[2]) for each in told], [float(each[1]) for each in told])


READERS = (
    Reader(
        name="sysbench-text",
        tool="sysbench",
        how="`sysbench TEST run`, printed into a file",
        replicated="file",
        unit="file",
        fits=_fits,
        read=_read,
    ),
)
