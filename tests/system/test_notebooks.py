"""The notebooks of the documentation run, and show what is stored in them."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
EXECUTE = runpy.run_path(str(DOCS / "execute_notebooks.py"))
NOTEBOOKS = EXECUTE["notebooks"]()
REFUSED = {"hyperfine": 1, "congestion_control": 1}
"""How many cells show an error, as the text above them says."""


def compared(output: dict[str, Any]) -> dict[str, Any]:
    """An output without drawings, whose last digits differ between processors."""
    data = {kind: text for kind, text in output.get("data", {}).items() if kind != "image/svg+xml"}
    return {**output, "data": data}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_is_stored(path: Path):
    stored, shown = json.loads(path.read_text()), EXECUTE["executed"](path)
    errors = 0
    for before, now in zip(stored["cells"], shown["cells"], strict=True):
        was, outputs = before.get("outputs", []), now.get("outputs", [])
        assert list(map(compared, outputs)) == list(map(compared, was)), "".join(before["source"])
        for output in outputs:
            errors += output["output_type"] == "error"
            if drawn := output.get("data", {}).get("image/svg+xml"):
                assert "<svg " in "".join(drawn)
    assert errors == REFUSED.get(path.stem, 0)


def test_three_notebooks_are_there_with_their_outputs():
    assert [path.stem for path in NOTEBOOKS] == ["congestion_control", "hyperfine", "triscale"]
    for path in NOTEBOOKS:
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
        assert any("text/html" in output.get("data", {}) for cell in cells for output in cell["outputs"])


def test_a_cell_shows_what_jupyter_would():
    outputs = list(EXECUTE["_outputs"]("!echo out\nx = 2\nx + 1", {"_shell": EXECUTE["_shell"]}, 4))
    assert outputs[0] == {"name": "stdout", "output_type": "stream", "text": ["out\n"]}
    assert outputs[1]["data"] == {"text/plain": ["3"]}
    (failed,) = EXECUTE["_outputs"]("1 / 0", {}, 1)
    assert (failed["output_type"], failed["ename"]) == ("error", "ZeroDivisionError")
