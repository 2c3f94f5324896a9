"""The pages of the site and what they link to.

python docs/site/links.py build/site      # exit 1 where a built page links to nothing or loads from elsewhere; lists external links
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
INCLUDED = (
    "docs/**/*.md",
    "docs/notebooks/*.ipynb",
    "examples/*/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "RELEASING.md",
    "SECURITY.md",
)
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PARSER = MarkdownIt("commonmark").enable("table")


def pages() -> Iterator[Path]:
    """The sources of all pages."""
    for pattern in INCLUDED:
        yield from sorted(ROOT.glob(pattern))


def listed_in(page: Path) -> Iterator[Path]:
    """The pages that the tables of contents of a page list."""
    for block in _TOCTREE.findall(page.read_text(encoding="utf-8")):
        lines = [line for line in block.splitlines() if line and not line.startswith(":")]
        for entry in (re.sub(r".*<(.*)>$", r"\1", line) for line in lines):
            folder, name = (ROOT, entry[1:]) if entry.startswith("/") else (page.parent, entry)
            found = [path for ending in (".md", ".ipynb") for path in folder.glob(name + ending)]
            yield from (path.resolve() for path in found or [folder / f"{name}.md"])


def links(page: Path) -> Iterator[str]:
    """What the links and pictures of a page in Markdown point to."""
    for token in _PARSER.parse(page.read_text(encoding="utf-8")):
        for piece in token.children or ():
            target = piece.attrs.get("href") or piece.attrs.get("src")
            if target is not None:
                yield unquote(str(target))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as repositories and the site derive them."""
    tokens = _PARSER.parse(page.read_text(encoding="utf-8"))
    heads = [text.content for opening, text in pairwise(tokens) if opening.type == "heading_open"]
    return frozenset(re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads)


def skips_a_level(page: Path) -> bool:
    """Return True if some heading of a page is more than one level below the one before it, which the site's build refuses."""
    tokens = _PARSER.parse(page.read_text(encoding="utf-8"))
    levels = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
    return any(below > above + 1 for above, below in pairwise(levels))


def dead_links(page: Path) -> Iterator[str]:
    """The links of a page in Markdown that lead nowhere in the repository."""
    for link in links(page):
        where = urlsplit(link)
        if where.scheme:
            continue
        target = (page.parent / where.path).resolve() if where.path else page
        if not target.is_file() or (where.fragment and where.fragment not in anchors(target)):
            yield link


class BuiltPage(HTMLParser):
    """What a built page loads, links to, and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        """Note an element's addresses."""
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        if tag == "a" and values.get("href") is not None:
            self.links.append(values["href"] or "")
        elif address := values.get("src") or (values.get("href") if tag == "link" else None):
            self.loads.append(address)


def built_pages(folder: Path) -> list[Path]:
    """The pages in a folder, without the theme's own files."""
    return sorted(path for path in folder.rglob("*.html") if "_static" not in path.parts)


def faults(folder: Path) -> Iterator[str]:
    """Each link of built pages that leads nowhere, and each file that one loads from elsewhere or that is not there."""
    built = {path: BuiltPage(path.read_text(encoding="utf-8")) for path in built_pages(folder)}
    for path, page in built.items():
        for address in page.loads:
            if not address.startswith("data:") and not _target(path, address).is_file():
                yield f"{path}: loads {address}"
        for address in page.links:
            if not urlsplit(address).scheme and not _leads_somewhere(path, address, built):
                yield f"{path}: links to {address}"


def _target(path: Path, address: str) -> Path:
    """The file of an address in a built page; an address with a host is none of the site's files."""
    where = urlsplit(address)
    return (
        path
        if not where.path and not where.netloc
        else (path.parent / (where.netloc + unquote(where.path))).resolve()
    )


def _leads_somewhere(path: Path, address: str, built: Mapping[Path, BuiltPage]) -> bool:
    target, fragment = _target(path, address), unquote(urlsplit(address).fragment)
    return target.is_file() and (not fragment or target not in built or fragment in built[target].ids)


def external(folder: Path) -> list[str]:
    """Addresses elsewhere that built pages link to."""
    found = (BuiltPage(path.read_text(encoding="utf-8")).links for path in built_pages(folder))
    return sorted({link for links_ in found for link in links_ if urlsplit(link).netloc})


def main() -> int:
    """Check the pages built into a folder."""
    folder = Path(sys.argv[1]).resolve()
    wrong = list(faults(folder))
    print("\n".join(wrong or ["Links to elsewhere, which were not tried:", *external(folder)]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
