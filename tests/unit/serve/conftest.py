"""An experiment with hostile names that ran, and its page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra `serve` is not installed")
pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")

from serving import serving
from trialwise.serve.server import Serving

EXPERIMENT = r"""
[experiment]
name = "hostile"
[factors]
flavour = ["plain", "<img src=x onerror=alert(1)>", "\u202edesrever"]
[trial]
kind = "python"
call = "work:work"
[metrics.time]
unit = "ms"
better = "lower"
[design]
rounds = 6
"""
WORK = """
import random

def work(flavour):
    if flavour == "plain":
        print("</pre><script>alert(2)</script>")
        raise ValueError("<b>broke</b>")
    return {"time": 10.0 + len(flavour) + random.random()}
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("served")
    (place / "hostile.toml").write_text(EXPERIMENT)
    (place / "work.py").write_text(WORK)
    command = [str(Path(sys.executable).parent / "trialwise"), "run", "hostile.toml", "--quiet"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 4, done.stderr  # a treatment fails
    return place


@pytest.fixture(scope="session")
def page(folder: Path) -> Iterator[Serving]:
    with serving(folder) as found:
        yield found
