"""fio's `--output-format=json`, `json+` and `terse` (`stat.c`, `HOWTO.rst`); a file is a trial, and jobs are its treatments.

Clones of a job without `group_reporting` are parts of one trial: rates add up, percentiles do not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import number
from trialwise.readers.parts import Part
from trialwise.readers.trial import Trial, sum_of

_DIRECTIONS = ("read", "write", "trim")
_NAMES = frozenset((
    "name", "filename", "directory", "description", "size", "runtime", "time_based", "ramp_time", "loops",
    "group_reporting", "stonewall", "new_group", "thread", "output", "output-format",
))  # fmt: skip
"""Job options that say where, how long and how to report: they are no factors."""
_LATENCIES = ("slat", "clat", "lat")
_TERSE = re.compile(r"\A3;fio-[^;\n]*;[^;\n]*;\d+;\d+;", re.MULTILINE)
_TERSE_FIELDS = {"read": 5, "write": 46}
_TERSE_CLAT, _TERSE_PERCENTILES, _TERSE_LAT = 8, 12, 32
"""Offsets of latencies after the first field of a direction: clat min, max, mean, deviation; 20 percentiles; lat."""


def _is_document(content: Content) -> bool:
    return "fio version" in content.keys and "jobs" in content.keys


def _did_something(content: Content) -> bool:
    return _is_document(content) and any(
        job[direction]["total_ios"].number for job in _jobs(content) for direction in _DIRECTIONS
    )


def _did_nothing(content: Content) -> bool:
    return (
        _is_document(content)
        and not _did_something(content)
        and not any(job["error"].number for job in _jobs(content))
    )


def _has_result(content: Content) -> bool:
    return _is_document(content) and not _did_nothing(content)


def _last(content: Content) -> Part:
    """Return the last document of fio: with `--status-interval`, each repeats the ones before."""
    return next(
        (Part(each) for each in reversed(content.documents.whole) if "fio version" in Part(each)), Part(None)
    )


def _jobs(content: Content) -> list[Part]:
    """Return the jobs, all of which are looked at several times."""
    if "jobs" not in content.worked:
        content.worked["jobs"] = list(_last(content)["jobs"].entries())
    return content.worked["jobs"]


def _read_json(content: Content, found: Found) -> None:
    document = _last(content)
    if (earlier := len(content.documents.whole) - 1) > 0:
        found.note("superseded_documents", n=earlier)
    if content.documents.is_cut:
        found.note("partial", what="the last document has no end")
    found.version = document["fio version"].text.removeprefix("fio-")
    found.options |= {
        name: part.level for name, part in document["global options"].members() if name not in _NAMES
    }
    clones: dict[tuple[tuple[str, str], ...], list[Part]] = {}
    for job in _jobs(content):
        clones.setdefault(tuple(_treatment(job).items()), []).append(job)
    ended = document["timestamp_ms"].number
    lasted = max((job["elapsed"].number or 0.0 for job in _jobs(content)), default=0.0)
    for treatment, jobs in clones.items():
        failed = next((job["error"].number for job in jobs if job["error"].number), None)
        trial = Trial(
            found=found,
            treatment=dict(treatment),
            start=None if ended is None else ended / 1000 - lasted,
            end=None if ended is None else ended / 1000,
            reason="" if failed is None else f"error {failed:.0f}",
        )
        _add_jobs(trial, dict(treatment), jobs)


def _read_nothing(content: Content, found: Found) -> None:
    found.version = _last(content)["fio version"].text.removeprefix("fio-")
    said = content.documents.before.strip().split("\n")[0]
    Trial(found=found, reason=said or "no job read or wrote anything").add("iops", None, "1/s", "higher")


def _treatment(job: Part) -> dict[str, str]:
    options = {name: part.level for name, part in job["job options"].members() if name not in _NAMES}
    return {"job": job["jobname"].text, **options}


def _add_jobs(trial: Trial, treatment: Mapping[str, str], jobs: list[Part]) -> None:
    """Add the halves of a job that did something; of a job that failed, one row says so."""
    halves = [name for name in _DIRECTIONS if any(job[name]["total_ios"].number for job in jobs)]
    for direction in halves:
        own = Trial(
            found=trial.found,
            treatment={**treatment, "direction": direction},
            start=trial.start,
            end=trial.end,
            reason=trial.reason,
        )
        _add_half(own, [job[direction] for job in jobs])
    if not halves:
        reason = trial.reason or "it read and wrote nothing"
        trial.add("iops", None, "1/s", "higher", reason=reason)


def _add_half(trial: Trial, halves: list[Part]) -> None:
    trial.add("iops", _sum(halves, "iops"), "1/s", "higher")
    exact, rounded = _sum(halves, "bw_bytes"), _sum(halves, "bw")
    trial.add(
        "bandwidth",
        rounded * 1024 if exact is None and rounded is not None else exact,
        "byte/s",
        "higher",
    )
    if len(halves) > 1:
        trial.found.remark("latencies of clones of a job cannot be put together: use group_reporting")
        return
    for latency in _LATENCIES:
        _add_latency(trial, halves[0], latency)


def _add_latency(trial: Trial, half: Part, latency: str) -> None:
    """Add one kind of latency, in ns since fio 3 and in µs before."""
    unit = "ns" if f"{latency}_ns" in half else "us"
    told = half[f"{latency}_ns" if unit == "ns" else latency]
    count = told["N"].number if "N" in told else half["total_ios"].number
    if not count or not (told["mean"].number or told["max"].number):
        return
    trial.add_known(f"{latency}_mean", told["mean"].number, unit, "lower")
    trial.add_known(f"{latency}_max", told["max"].number, unit, "lower")
    for percent, value in told["percentile"].members():
        if (asked := _percent(percent)) is not None:
            trial.add_quantile(latency, asked, value.number, unit, count)


def _percent(told: str) -> float | None:
    found = number(told)
    return found if found is not None and 0 < found < 100 else None


def _sum(halves: list[Part], key: str) -> float | None:
    known = [told for half in halves if (told := half[key].number) is not None]
    return sum_of(known) if known else None


def _is_terse(content: Content) -> bool:
    return not content.is_binary and _TERSE.match(content.head) is not None


def _read_terse(content: Content, found: Found) -> None:
    """Read `--output-format=terse`, version 3: a line for each job, latencies in µs, bandwidth in KiB/s."""
    lines = [line.split(";") for line in content.lines if line.startswith("3;fio-")]
    for line, fields in enumerate(lines, 1):
        found.version = fields[1].removeprefix("fio-")
        levels = {} if len({tuple(each[2:4]) for each in lines}) == len(lines) else {"process": line}
        failed = _field(fields, 4)
        for direction, first in _TERSE_FIELDS.items():
            if not _field(fields, first):
                continue
            trial = Trial(
                found=found,
                treatment={"job": fields[2], "direction": direction},
                levels=levels,
                reason=f"error {failed:.0f}" if failed else "",
            )
            _add_terse(trial, fields, first)
        if not any(_field(fields, first) for first in _TERSE_FIELDS.values()):
            trial = Trial(found=found, treatment={"job": fields[2]}, levels=levels)
            reason = f"error {failed:.0f}" if failed else "it read and wrote nothing"
            trial.add("iops", None, "1/s", "higher", reason=reason)
    if lines and len(lines[-1]) < _TERSE_FIELDS["write"] + _TERSE_LAT:
        found.note("partial", what="the last line has no end")


def _add_terse(trial: Trial, fields: list[str], first: int) -> None:
    bandwidth, rate, lasted = (_field(fields, first + place) for place in (1, 2, 3))
    passed = None if rate is None or lasted is None else rate * lasted / 1000
    count = None if passed is None or not isfinite(passed) else round(passed)
    trial.add("iops", rate, "1/s", "higher")
    trial.add("bandwidth", None if bandwidth is None else bandwidth * 1024, "byte/s", "higher")
    trial.add_known("clat_max", _field(fields, first + _TERSE_CLAT + 1), "us", "lower")
    trial.add_known("clat_mean", _field(fields, first + _TERSE_CLAT + 2), "us", "lower")
    for place in range(first + _TERSE_PERCENTILES, first + _TERSE_LAT):
        percent, is_pair, value = fields[place].partition("%=") if place < len(fields) else ("", "", "")
        if is_pair and (asked := _percent(percent)) is not None:
            trial.add_quantile("clat", asked, number(value), "us", count)
    trial.add_known("lat_mean", _field(fields, first + _TERSE_LAT + 2), "us", "lower")


def _field(fields: list[str], place: int) -> float | None:
    return number(fields[place]) if place < len(fields) else None


READERS = (
    Reader(
        name="fio-json",
        tool="fio",
        how="`fio --output-format=json`",
        replicated="file",
        unit="file",
        fits=_has_result,
        read=_read_json,
    ),
    Reader(
        name="empty-file",
        tool="fio",
        how="`fio --output-format=json`, which could not start",
        replicated="file",
        unit="file",
        fits=_did_nothing,
        read=_read_nothing,
        holds_results=False,
    ),
    Reader(
        name="fio-terse",
        tool="fio",
        how="`fio --output-format=terse`",
        replicated="file",
        unit="file",
        fits=_is_terse,
        read=_read_terse,
    ),
)
