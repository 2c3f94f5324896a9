"""Render documents as test cases: JUnit XML for continuous integration.

It conforms to the schemas of both Apache Ant's JUnit task and Jenkins' xUnit plugin (junit-10).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from xml.etree import ElementTree as ET

from trialwise.report.document import Cell, Document, Name, Outcome, Table, Verdict, plain

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Case:
    """A test case: a bad one fails, an open one is skipped, both with a message."""

    name: str
    group: str
    outcome: Outcome
    message: str
    kind: str = ""
    detail: str = ""


def junit(document: Document, moment: datetime) -> str:
    """Write each row with a verdict as a test case; without any, the answer is the only one."""
    found = [case for table in document.tables for case in _cases(document.key, table)]
    whole = Case(document.key, f"trialwise.{document.key}", document.answer.outcome, plain(document.answer))
    method = " ".join(plain(text) for text in _method(document))
    return junit_xml(
        f"trialwise {document.key}", found or [whole], {"method": method}, plain(document.answer), moment
    )


def _method(document: Document) -> Iterator[Cell]:
    for block in document.method:
        yield getattr(block, "text", ())


def _cases(key: str, table: Table) -> Iterator[Case]:
    for row in table.rows:
        judged = next((cell for cell in row if isinstance(cell, Verdict)), None)
        if judged is not None:
            names = [cell.text for cell in row if isinstance(cell, Name)]
            cells = zip(table.columns, row, strict=True)
            detail = "; ".join(
                f"{column.title} {plain(cell)}" for column, cell in cells if not isinstance(cell, Name)
            )
            group = f"trialwise.{names[0] if names else key}"
            yield Case(" of ".join(names) or key, group, judged.outcome, plain(judged), "", detail)


def junit_xml(
    name: str, cases: Sequence[Case], properties: dict[str, str], output: str, moment: datetime
) -> str:
    """Write a suite of these cases."""
    root = ET.Element("testsuites")
    suite = ET.SubElement(
        root,
        "testsuite",
        name=_clean(name),
        package="trialwise",
        id="0",
        timestamp=moment.strftime("%Y-%m-%dT%H:%M:%S"),
        hostname="localhost",
        tests=str(len(cases)),
        failures=str(sum(case.outcome == "bad" for case in cases)),
        errors="0",
        skipped=str(sum(case.outcome == "open" for case in cases)),
        time="0",
    )
    known = ET.SubElement(suite, "properties")
    for key, value in properties.items():
        ET.SubElement(known, "property", name=key, value=_clean(value))
    for case in cases:
        _case(suite, case)
    ET.SubElement(suite, "system-out").text = _clean(output)
    ET.SubElement(suite, "system-err")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ET.Element, case: Case) -> None:
    made = ET.SubElement(suite, "testcase", name=_clean(case.name), classname=_clean(case.group), time="0")
    if case.outcome == "bad":
        failure = ET.SubElement(made, "failure", message=_clean(case.message), type=case.kind or "bad")
        failure.text = _clean(case.detail)
    elif case.outcome == "open":
        ET.SubElement(made, "skipped", message=_clean(case.message))


def _clean(text: str) -> str:
    """Remove the characters that XML does not allow."""
    return _FORBIDDEN.sub("?", text)
