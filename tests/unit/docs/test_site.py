"""The site's sources: every page is in its table of contents once, and no link leads nowhere; `make docs` builds it."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from pathlib import Path

import pytest

SITE = runpy.run_path(str(Path(__file__).parents[3] / "docs/site/links.py"))
ROOT: Path = SITE["ROOT"]
PAGES: list[Path] = list(SITE["pages"]())
IN_MARKDOWN = [page for page in PAGES if page.suffix == ".md"]
OUTSIDE_CONTENTS = {ROOT / "docs/index.md", ROOT / "docs/versions.md"}


def test_every_page_is_in_the_table_of_contents_once():
    listed = Counter(page for each in IN_MARKDOWN for page in SITE["listed_in"](each))
    assert {page: n for page, n in listed.items() if n > 1} == {}
    assert set(listed) == set(PAGES) - OUTSIDE_CONTENTS


@pytest.mark.parametrize("folder", sorted({page.parent for page in IN_MARKDOWN}), ids=lambda path: path.name)
def test_no_link_leads_nowhere(folder: Path):
    dead = {page.name: list(SITE["dead_links"](page)) for page in IN_MARKDOWN if page.parent == folder}
    assert {name: links for name, links in dead.items() if links} == {}


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs/contributors").glob("*.md")), ids=lambda page: page.stem
)
def test_paths_that_contributors_are_sent_to_are_there(page: Path):
    named = re.findall(r"`([a-z0-9_./-]+(?:/|/[a-z_-]+|\.py|\.rs|\.toml))`", page.read_text())
    places = (ROOT, ROOT / "src/trialwise")
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def included(page: Path) -> list[Path]:
    """The files that directives of a page show."""
    text = page.read_text()
    screens = re.findall(r"^```\{screen\} (.*)$", text, re.MULTILINE)
    files = re.findall(r"^```\{literalinclude\} (.*)$", text, re.MULTILINE)
    return [ROOT / f"tests/golden/gallery/{name}.80.txt" for name in screens] + [
        page.parent / name for name in files
    ]


@pytest.mark.skipif(not (ROOT / "tests/additions").is_dir(), reason="a copy in which an addition is tried")
def test_what_pages_show_is_there():
    assert [path for page in IN_MARKDOWN for path in included(page) if not path.is_file()] == []


def test_headings_go_down_by_one_level():
    assert [page for page in IN_MARKDOWN if SITE["skips_a_level"](page)] == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A head, *of* `two`\n[a](#a-head-of-two) [b](other.md) [c](#b) ![d](d.svg)\n\n    [e](code.md)\n"
    )
    assert list(SITE["dead_links"](page)) == ["other.md", "#b", "d.svg"]


def test_a_built_page_loads_nothing_from_elsewhere(tmp_path: Path):
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="#x"></a><a href="b.html"></a><script src="https://c.example/d.js">'
    )
    assert [fault.split(": ")[1] for fault in SITE["faults"](tmp_path)] == [
        "loads https://c.example/d.js",
        "links to b.html",
    ]
