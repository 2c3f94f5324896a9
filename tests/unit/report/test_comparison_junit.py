"""JUnit XML against the rules of the two schemas that tools use: Apache Ant's JUnit task and Jenkins' junit-10."""

import re
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest

from comparison_data import hyperfine
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.exchange.result_files import read_trials
from trialwise.experiment.model import Extent
from trialwise.report.comparison_junit import comparison_junit
from trialwise.report.documents import compare as compare_words
from trialwise.report.render.markdown import markdown

ATTRIBUTES = {
    "testsuites": (set(), set()),
    "testsuite": (
        {"name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "time"},
        {"skipped"},
    ),
    "properties": (set(), set()),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name", "classname", "time"}, set()),
    "failure": ({"type"}, {"message"}),
    "skipped": (set(), {"message", "type"}),
    "system-out": (set(), set()),
    "system-err": (set(), set()),
}
"""Attributes that both schemas ask for, and those that both allow."""
ORDER = {"testsuite": "properties (testcase )*system-out system-err ", "testcase": "(failure |skipped )?"}
NUMBERS = {"tests": int, "failures": int, "errors": int, "skipped": int, "time": float, "id": int}


def check(element):
    required, allowed = ATTRIBUTES[element.tag]
    assert required <= set(element.attrib) <= required | allowed
    for name, kind in NUMBERS.items():
        if name in element.attrib:
            kind(element.attrib[name])
    children = "".join(f"{child.tag} " for child in element)
    assert re.fullmatch(ORDER.get(element.tag, ".*"), children)
    for child in element:
        check(child)


@pytest.fixture
def found(tmp_path):
    base = {"x": (1.0, 0.01, 20), "y & <z>\x1b": (2.0, 0.02, 20), "u|v": (1.0, 0.5, 20), "one": (1.0, 0.1, 1)}
    head = base | {"x": (1.2, 0.01, 20)}
    a, b = hyperfine(tmp_path / "a.json", base), hyperfine(tmp_path / "b.json", head, seed=2)
    return compare(read_trials(a), read_trials(b), CompareOptions(margin=Extent(5, relative=True)))


def test_it_keeps_to_both_schemas(found):
    root = ET.fromstring(comparison_junit(found, datetime(2026, 11, 22, 12, 0, tzinfo=UTC)))  # noqa: S314 our own
    assert root.tag == "testsuites"
    check(root)
    suite = root[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
    cases = suite.findall("testcase")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "2")
    assert [next((child.tag for child in case), "passed") for case in cases] == [
        "failure",
        "passed",
        "skipped",
        "skipped",
    ]
    assert cases[1].get("name") == "time of command=y & <z>?"
    assert "more trials on each side" in cases[2][0].get("message")
    assert "each side takes at least two" in cases[3][0].get("message")
    assert cases[0][0].get("message").startswith("different, worse: +")


def test_a_checker_that_lets_everything_pass_is_none(found):
    root = ET.fromstring(comparison_junit(found, datetime(2026, 11, 22, tzinfo=UTC)))  # noqa: S314 our own
    del root[0].attrib["hostname"]
    with pytest.raises(AssertionError):
        check(root)


def test_markdown_escapes_names_and_folds_the_rest(found):
    text = markdown(compare_words.document(found, has_gate=True))
    assert text.startswith(
        "### ❌ 4 comparisons: 1 different (1 worse), 1 equivalent, 1 undecided, 1 without inference.\n"
    )
    assert r"u\|v" in text
    assert "y &amp; &lt;z&gt;" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert [line.replace(r"\|", "").count("|") for line in tables] == [6] * 6 + [8] * 6
    assert text.index("**different, worse**") < text.index("undecided |") < text.index("equivalent |")
    assert text.count("<details>") == text.count("</details>") == 2
