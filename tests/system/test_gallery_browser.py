"""The documents of the gallery in a browser: on a phone, on a dark screen, and on paper."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from shutil import which

import pytest

from browser import CHROMIUM, browse, too_wide
from golden.gallery.record import DOCUMENTS
from trialwise.report.document import Document, Verdict, plain
from trialwise.report.html import page
from trialwise.visible import visible

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)"
)
MADE = {name: make() for name, make in DOCUMENTS.items()}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All documents as chapters of one page."""
    chapters = tuple(document.as_chapter(name) for name, document in MADE.items())
    path = tmp_path_factory.mktemp("gallery") / "page.html"
    path.write_text(
        page(Document("gallery", Verdict("plain", ("All documents.",)), chapters), {}, title="Gallery")
    )
    return path


@pytest.mark.parametrize(("width", "scheme"), [(390, 1), (390, 0), (1200, 0)])
def test_nothing_is_wider_than_the_screen(written: Path, width: int, scheme: int) -> None:
    assert too_wide(written, width, scheme).startswith(f"{width} px: 0 too wide")


def words(text: str) -> str:
    """Letters and digits alone: lines and columns of paper break texts anywhere."""
    return "".join(re.findall(r"\w", text))


@pytest.mark.skipif(
    which("pdftotext") is None, reason="pdftotext is not installed (apt-get install poppler-utils)"
)
def test_paper_has_every_answer_and_every_name_in_a_table(written: Path) -> None:
    paper = written.with_suffix(".pdf")
    browse(written, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    done = subprocess.run(["pdftotext", "-layout", paper, "-"], capture_output=True, text=True, check=True)
    printed = words(done.stdout)
    for name, document in MADE.items():
        assert words(visible(plain(document.answer))) in printed, name
    firsts = {
        plain(table.rows[0][0]) for document in MADE.values() for table in document.tables if table.rows
    }
    assert [first for first in sorted(firsts) if words(visible(first)) not in printed] == []
