"""JUnit's XML of test runs: a file is one run, and each test has one duration in seconds, which includes its fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from xml.etree import ElementTree as ET

from trialwise.numbers import counted
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader

_ENTRY = "testcase"
_RETRIED = ("rerunFailure", "rerunError", "flakyFailure", "flakyError")
_COARSE = 3


def _fits(content: Content) -> bool:
    return content.root in ("testsuites", "testsuite")


def _read(_: Content, found: Found) -> None:
    root = found.xml(_ENTRY)
    texts: list[str] = []
    retried = 0
    for number, (suite, case) in enumerate(_cases(root), 1):
        retried += any(case.find(name) is not None for name in _RETRIED)
        texts.append(case.get("time", ""))
        _add(found, suite, case, f"testcase[{number}]")
    decimals = {len(text.partition(".")[2]) for text in texts if text}
    if decimals and max(decimals) <= _COARSE:
        found.note("coarse_clock", what="1 ms" if max(decimals) == _COARSE else "1 s or less finely")
    if retried:
        found.remark(
            f"{counted(retried, 'test')} ran again after a failure; the time is the one that the file gives"
        )


def _cases(root: ET.Element) -> Iterator[tuple[ET.Element, ET.Element]]:
    """Return each test with its suite; suites may nest."""
    open_suites = [root]
    while open_suites:
        suite = open_suites.pop(0)
        yield from ((suite, case) for case in suite.findall(_ENTRY))
        open_suites += suite.findall("testsuite")


def _add(found: Found, suite: ET.Element, case: ET.Element, where: str) -> None:
    classname, name = case.get("classname", ""), case.get("name", "")
    treatment = {"test": f"{classname}::{name}" if classname else name}
    reason, failed = _ended(case)
    value = None if reason else _seconds(case.get("time", ""))
    found.add(
        treatment,
        "time",
        value,
        "s",
        "lower",
        levels={"host": suite.get("hostname", ""), "file": "1", "repetition": where},
        status="failed" if failed else "finished",
        reason=reason,
        start=_moment(suite.get("timestamp", "")),
        where=where,
    )


def _ended(case: ET.Element) -> tuple[str, bool]:
    """Return why a test has no time, and True if it failed."""
    for name in ("failure", "error"):
        if (child := case.find(name)) is not None:
            return child.get("message") or f"{name} without a message", True
    if (child := case.find("skipped")) is not None:
        return f"skipped: {child.get('message') or 'without a message'}", False
    return "", False


def _seconds(text: str) -> float | None:
    """Read a time, which may have commas between thousands."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _moment(told: str) -> float | None:
    """Return Unix seconds of a time with its zone; without one the time is unknown."""
    try:
        moment = datetime.fromisoformat(told)
        return None if moment.tzinfo is None else moment.timestamp()
    except (ValueError, OverflowError):
        return None


READERS = (
    Reader(
        name="junit-xml",
        tool="JUnit",
        how="`pytest --junitxml FILE`, a file for each run of the suite",
        replicated="file",
        unit="file (one run of the suite)",
        subjects=("test",),
        fits=_fits,
        read=_read,
    ),
)
