"""The report in headless Chromium: it draws itself without a network, without errors, and says what --json says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from example_directory import analyse_example, write_example
from json_pointer import resolve
from report_page import ReportPage
from trialwise.analysis.results import Analysis
from trialwise.exchange.analysis_json import analysis_document
from trialwise.report.html import html_report
from trialwise.report.numbers import write

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)"
)

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=20000",
)


def _browse(page: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open a page with a new profile and no network; wait in virtual time for its figures."""
    profile = page.parent / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


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
    return _browse(page, "--dump-dom")


def _console(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def test_every_figure_draws_itself_and_the_console_stays_empty(
    opened: subprocess.CompletedProcess[str],
) -> None:
    seen = ReportPage(opened.stdout)
    assert _console(opened) == []
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
    for path, rounding, shown in numbers:
        assert shown == write(resolve(document, path), rounding), path  # type: ignore[arg-type]


def test_names_of_users_never_run(opened: subprocess.CompletedProcess[str]) -> None:
    assert "<script>alert" not in re.sub(r"<script id=.*?</script>", "", opened.stdout, flags=re.DOTALL)


PROBE = """<script>setTimeout(() => {
  const parts = [...document.querySelectorAll("main, figure, .plot svg, li, p, select, summary")];
  const wide = parts.filter((part) => part.getBoundingClientRect().right > innerWidth + 1);
  parent.postMessage(`${innerWidth} px: ${wide.length} too wide ${wide.map((part) => part.outerHTML.slice(0, 80))}`, "*");
}, 12000)</script>"""


@pytest.mark.parametrize(("width", "scheme"), [(320, 1), (1280, 0)])
def test_nothing_is_wider_than_the_window(page: Path, width: int, scheme: int) -> None:
    before, _, after = page.read_text(encoding="utf-8").rpartition("</body>")
    page.with_name("probe.html").write_text(before + PROBE + "</body>" + after, encoding="utf-8")
    frame = page.with_name("frame.html")  # a window is never narrower than 500 pixels, a frame is
    frame.write_text(
        '<link rel="icon" href="data:,"><script>onmessage = (event) => { document.title = event.data }</script>'
        f'<iframe src="probe.html" style="border:0;width:{width}px;height:800px"></iframe>'
    )
    done = _browse(
        frame, "--dump-dom", "--window-size=1400,900", f"--blink-settings=preferredColorScheme={scheme}"
    )
    assert _console(done) == []
    assert f"<title>{width} px: 0 too wide" in done.stdout, re.findall("<title>[^<]*", done.stdout)


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
    assert "<title>redrawn</title>" in _browse(probe, "--dump-dom").stdout


def test_it_prints(page: Path) -> None:
    paper = page.with_suffix(".pdf")
    done = _browse(page, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    assert _console(done) == []
    content = paper.read_bytes()
    assert content.startswith(b"%PDF")
    assert 2 <= content.count(b"/Type /Page\n") <= 60


def test_paper_mode_opens_too(tmp_path: Path) -> None:
    path = write_example(tmp_path / "results", algorithms=("a",), rounds=5, series=1)
    page = tmp_path / "paper.html"
    page.write_text(html_report(analyse_example(path, "paper"), "test"), encoding="utf-8")
    done = _browse(page, "--dump-dom")
    assert _console(done) == []
    assert {figure.get("data-drawn") for figure in ReportPage(done.stdout).figures} == {"yes"}
