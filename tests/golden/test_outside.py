"""What the product shows to machines is what was recorded: `python tests/golden/outside/record.py` after an intended change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from golden.outside import record


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    record.write_inputs(folder)
    return folder


@pytest.mark.parametrize("title", record.RECORDED)
def test_what_machines_read_is_as_it_was(inputs: Path, title: str) -> None:
    found = json.loads(json.dumps(record.RECORDED[title](inputs)))
    kept = json.loads((record.HERE / f"{title}.json").read_text())
    assert found.keys() == kept.keys()
    for name in kept:
        assert found[name] == kept[name], f"{name}: see CHANGELOG.md, then record.py"
