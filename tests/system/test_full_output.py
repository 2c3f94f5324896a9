"""What is printed for programs is all there, or the command says that it is not, also where only the last of it finds no room."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MAIN = (sys.executable, "-c", "from trialwise.cli.main import main; main()")
COLUMNS = ("--value", "v", "--group", "lab")


@pytest.mark.parametrize(
    "words",
    [
        ("analyze", "table.csv", *COLUMNS, "--json"),
        ("analyze", "table.csv", *COLUMNS, "--csv"),
        ("look", "table.csv", "--json"),
    ],
)
def test_a_short_document_on_a_full_device_is_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    """Linux's /dev/full refuses each byte (full(4)); less than a buffer is written at the end alone."""
    (tmp_path / "table.csv").write_text(
        "lab,v\n" + "".join(f"{row % 2},{row * 7 % 13}\n" for row in range(6))
    )
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*MAIN, *words], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 5
    assert "No space left on device" in done.stderr or "disk" in done.stderr
    assert "Exception ignored" not in done.stderr
