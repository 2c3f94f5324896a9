"""Documents look as they were recorded: `python tests/golden/gallery/record.py` after an intended change, and read the difference."""

from __future__ import annotations

import pytest

from golden.gallery import record


@pytest.mark.parametrize("name", record.DOCUMENTS)
def test_a_document_is_in_each_medium_as_it_was(name: str) -> None:
    for ending, text in record.media(record.DOCUMENTS[name]()).items():
        assert text == (record.HERE / f"{name}.{ending}").read_text(), ending


def test_the_gallery_has_no_file_that_nothing_makes() -> None:
    assert {path for path, _ in record.files()} == {
        path for path in record.HERE.iterdir() if path.suffix not in (".py", "")
    }
