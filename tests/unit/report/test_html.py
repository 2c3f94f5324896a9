from __future__ import annotations

import json
import re

import pytest

from json_pointer import resolve
from report_page import ReportPage
from trialwise.analysis.results import Analysis
from trialwise.exchange.plain import Json
from trialwise.report.figures.metric import figures
from trialwise.report.figures.plot_data import packed
from trialwise.report.html import html_report
from trialwise.report.numbers import write


@pytest.fixture(scope="module")
def text(analysis: Analysis) -> str:
    return html_report(analysis, "1.2.3")


@pytest.fixture(scope="module")
def page(text: str) -> ReportPage:
    return ReportPage(text)


def test_every_number_is_that_of_the_document(page: ReportPage, document: dict[str, Json]) -> None:
    assert len(page.numbers) > 1000
    for path, rounding, shown, power in page.numbers:
        assert shown == write(resolve(document, path), rounding, power)  # type: ignore[arg-type]


def test_nothing_is_loaded_from_elsewhere(page: ReportPage) -> None:
    for tag, attributes in page.tags:
        assert "src" not in attributes, tag
        assert (attributes.get("href") or "#").startswith(("#", "data:")), attributes
    assert not re.search(r"@import|url\(", "".join(str(attributes) for _, attributes in page.tags))


def test_texts_of_users_are_escaped(text: str, page: ReportPage) -> None:
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<b>full</b>" not in text
    assert sum(tag == "script" for tag, _ in page.tags) == 4


def test_a_normal_report_is_small(text: str) -> None:
    assert len(text.encode()) < 2_500_000


def test_the_same_analysis_gives_the_same_page(analysis: Analysis, text: str) -> None:
    assert html_report(analysis, "1.2.3") == text


def test_tables_and_figures_are_named(page: ReportPage) -> None:
    tables = sum(tag == "table" for tag, _ in page.tags)
    assert sum(tag == "caption" for tag, _ in page.tags) == tables > 10
    assert len(page.figures) > 10
    assert all(attributes["aria-label"] for attributes in page.figures)
    identifiers = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


def test_figures_are_valid_vega_lite(analysis: Analysis) -> None:
    for found in analysis.metrics:
        sheets: dict[str, object] = {}
        for figure in figures(analysis, found, sheets):  # type: ignore[arg-type]
            named = set(re.findall(r'"data": \{"name": "(\w+)"\}', json.dumps(figure.spec)))
            assert named
            assert named <= set(sheets)


def test_sheets_write_each_text_once() -> None:
    rows = [{"a": "x", "b": 1.23456789}, {"a": "x", "b": None}, {"a": None, "b": 2}]
    assert packed(rows) == {"a": {"t": ["x"], "i": [0, 0, -1]}, "b": {"v": [1.234568, None, 2]}}  # type: ignore[arg-type]
