"""The report in headless Chromium: it draws itself without a network, without errors, and says what --json says."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from browser import CHROMIUM, browse, console, too_wide
from example_directory import analyse_example, write_example
from json_pointer import resolve
from report_page import ReportPage
from trialwise.analysis.results import Analysis
from trialwise.exchange.analysis_json import analysis_document
from trialwise.report.html import html_report
from trialwise.report.numbers import write

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)"
)


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    return analyse_example(write_example(tmp_path_factory.mktemp("browser") / "results", rounds=11, series=3))


@pytest.fixture(scope="module")
def page(analysis: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html_report(analysis, "test"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def opened(page: Path) -> subprocess.CompletedProcess[str]:
    return browse(page, "--dump-dom")


def test_every_figure_draws_itself_and_the_console_stays_empty(
    opened: subprocess.CompletedProcess[str],
) -> None:
    seen = ReportPage(opened.stdout)
    assert console(opened) == []
    assert len(seen.figures) > 10
    assert {figure.get("data-drawn") for figure in seen.figures} == {"yes"}
    drawings = [attributes for tag, attributes in seen.tags if tag == "svg"]
    assert len(drawings) == len(seen.figures)


def test_every_number_on_the_page_is_that_of_json(
    opened: subprocess.CompletedProcess[str], analysis: Analysis
) -> None:
    document = json.loads(json.dumps(analysis_document(analysis), allow_nan=False))
    numbers = ReportPage(opened.stdout).numbers
    assert len(numbers) > 1000
    for path, rounding, shown, power in numbers:
        assert shown == write(resolve(document, path), rounding, power), path  # type: ignore[arg-type]


def test_names_of_users_never_run(opened: subprocess.CompletedProcess[str]) -> None:
    assert "<script>alert" not in re.sub(r"<script id=.*?</script>", "", opened.stdout, flags=re.DOTALL)


@pytest.mark.parametrize(("width", "scheme"), [(320, 1), (1280, 0)])
def test_nothing_is_wider_than_the_window(page: Path, width: int, scheme: int) -> None:
    assert too_wide(page, width, scheme).startswith(f"{width} px: 0 too wide")


CHOOSE = """<script>setTimeout(() => {
  const place = document.querySelector("[data-figure^=autocorrelation]");
  const before = place.querySelector("svg").outerHTML;
  const list = place.querySelector("select");
  list.selectedIndex = 1;
  for (const kind of ["input", "change"]) list.dispatchEvent(new Event(kind, { bubbles: true }));
  setTimeout(() => { document.title = before === place.querySelector("svg").outerHTML ? "same" : "redrawn" }, 2000);
}, 12000)</script>"""


def test_choosing_a_treatment_redraws_the_figure(page: Path) -> None:
    before, _, after = page.read_text(encoding="utf-8").rpartition("</body>")
    probe = page.with_name("choose.html")
    probe.write_text(before + CHOOSE + "</body>" + after, encoding="utf-8")
    assert "<title>redrawn</title>" in browse(probe, "--dump-dom").stdout


def test_it_prints(page: Path) -> None:
    paper = page.with_suffix(".pdf")
    done = browse(page, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    assert console(done) == []
    content = paper.read_bytes()
    assert content.startswith(b"%PDF")
    assert 2 <= content.count(b"/Type /Page\n") <= 60


def test_paper_mode_opens_too(tmp_path: Path) -> None:
    path = write_example(tmp_path / "results", algorithms=("a",), rounds=5, series=1)
    page = tmp_path / "paper.html"
    page.write_text(html_report(analyse_example(path, "paper"), "test"), encoding="utf-8")
    done = browse(page, "--dump-dom")
    assert console(done) == []
    assert {figure.get("data-drawn") for figure in ReportPage(done.stdout).figures} == {"yes"}
