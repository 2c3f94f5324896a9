"""A comparison as test cases: JUnit XML that continuous integration shows.

It keeps to the schemas of Apache Ant's JUnit task and of Jenkins' xUnit plugin (junit-10) at once.
"""

from __future__ import annotations

import re
from datetime import datetime
from xml.etree import ElementTree as ET

from trialwise.analysis.comparison.gate import fails
from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.report import comparison_words as words
from trialwise.report.numbers import write

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(found: Comparison, moment: datetime) -> str:
    """Each row as a test case: one that is different for the worse is a failure, one without a verdict is skipped."""
    failing = [row for row in found.rows if fails(row)]
    skipped = [row for row in found.rows if words.open_words(row) is not None]
    root = ET.Element("testsuites")
    suite = ET.SubElement(
        root,
        "testsuite",
        name="trialwise compare",
        package="trialwise",
        id="0",
        timestamp=moment.strftime("%Y-%m-%dT%H:%M:%S"),
        hostname="localhost",
        tests=str(len(found.rows)),
        failures=str(len(failing)),
        errors="0",
        skipped=str(len(skipped)),
        time="0",
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in (("a", found.a), ("b", found.b), ("method", words.method_of(found))):
        ET.SubElement(properties, "property", name=name, value=_clean(value))
    for row in found.rows:
        _case(suite, row)
    ET.SubElement(suite, "system-out").text = words.counts_of(found)
    ET.SubElement(suite, "system-err")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ET.Element, row: ComparisonRow) -> None:
    name = _clean(f"{row.metric.name} of {row.treatment}" if row.treatment != "-" else row.metric.name)
    case = ET.SubElement(
        suite, "testcase", name=name, classname=_clean(f"trialwise.{row.metric.name}"), time="0"
    )
    if fails(row):
        said = f"{words.verdict_of(row)}: {words.change_of(row)}, {words.margin_of(row)}"
        failure = ET.SubElement(case, "failure", message=_clean(said), type=row.verdict)
        failure.text = _clean(_numbers(row))
    elif open_words := words.open_words(row):
        ET.SubElement(case, "skipped", message=_clean(open_words))


def _numbers(row: ComparisonRow) -> str:
    a, b = row.summary.means
    return (
        f"means {write(a)} and {write(b)} {row.metric.unit}; {words.n_of(row)}; B − A {words.difference_of(row)}; "
        f"B / A {words.ratio_of(row)}; p for {words.claim_p_of(row)}"
    )


def _clean(text: str) -> str:
    """Without the characters that XML does not know."""
    return _FORBIDDEN.sub("?", text)
