"""Catch2's XML of benchmarks, in nanoseconds: means alone, of one process (`catch_reporter_xml.cpp`).

The overall result of a test case is a success also where one of its benchmarks failed.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from trialwise.numbers import first_of
from trialwise.readers.content import Content
from trialwise.readers.declared import NO_UNIT, Found, Reader
from trialwise.readers.records import Summary
from trialwise.readers.units import normalised

_ROOTS = ("Catch", "Catch2TestRun")
_ENTRY = "BenchmarkResults"
_MOST_NAMED = 5


def _fits(content: Content) -> bool:
    return content.root in _ROOTS


def _read(_: Content, found: Found) -> None:
    root = found.xml(_ENTRY)
    found.version = root.get("catch2-version", "")
    for number, case in enumerate(root.iter("TestCase"), 1):
        for place, result in enumerate(case.iter(_ENTRY), 1):
            names = {"test_case": case.get("name", ""), "benchmark": result.get("name", "")}
            _add(found, names, result, f"TestCase[{number}]/{_ENTRY}[{place}]")
    failed = [case.get("name", "") for case in root.iter("TestCase") if _has_failed(case)]
    if failed:
        found.remark(f"a check failed beside what was measured, in {first_of(failed, _MOST_NAMED)}")
    found.note("within_process")


def _has_failed(case: ET.Element) -> bool:
    """Return True if a check of a test case with benchmarks failed, so that what was measured may be wrong."""
    result = case.find("OverallResult")
    return result is not None and result.get("success") == "false" and case.find(f".//{_ENTRY}") is not None


def _add(found: Found, names: dict[str, str], result: ET.Element, where: str) -> None:
    mean, failed = result.find("mean"), result.find("failed")
    if failed is not None or mean is None:
        reason = "it has no mean" if failed is None else failed.get("message") or "it failed"
        found.add(names, "time", None, "s", "lower", status="failed", reason=reason, where=where)
        return
    deviation = result.find("standardDeviation")
    lower, upper = _seconds(mean, "lowerBound"), _seconds(mean, "upperBound")
    found.add(
        names,
        "time",
        _seconds(mean, "value"),
        "s",
        "lower",
        status="aggregated",
        summary=Summary(
            n=_count(result.get("samples", "")),
            deviation=None if deviation is None else _seconds(deviation, "value"),
            interval=None if lower is None or upper is None else (lower, upper),
            level=_number(mean.get("ci", "")),
        ),
        where=where,
    )


def _seconds(element: ET.Element, name: str) -> float | None:
    number = _number(element.get(name, ""))
    return None if number is None else normalised(number, "ns")[0]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


READERS = (
    Reader(
        name="catch2-xml",
        tool="Catch2",
        how="`-r xml -o FILE '[!benchmark]'`",
        replicated="process",
        unit=f"{NO_UNIT}; process: 1",
        subjects=("test_case", "benchmark"),
        fits=_fits,
        read=_read,
    ),
)
