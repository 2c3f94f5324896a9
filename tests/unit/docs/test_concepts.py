"""The Python examples of the concept pages give what stands beside them."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[3] / "docs" / "concepts").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_give_what_is_printed(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False)
    assert result.failed == 0


def test_some_page_has_examples() -> None:
    assert sum(doctest.testfile(str(page), module_relative=False).attempted for page in PAGES) > 0
