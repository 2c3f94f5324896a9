"""A small experiment that really ran, with a claim that its trials support, and its artifact."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

TEXT = """
[experiment]
name = "sums"
description = "Two loops"
seed = 5
[factors]
n = [1, 3]
[trial]
command = ["./work", "{n}", "{round}"]
[metrics.steps]
json = "/steps"
unit = "1"
better = "lower"
[design]
rounds = 5
"""
PROGRAM = """#!/bin/sh
echo "{\\"steps\\": $(($1 * 100 + $2 * $1 % 7))}"
"""
CLAIMS = """format = "trialwise-claims-1"
# our data
[data]
directory = "sums.results"

[[claim]]
id = "C1"
text = "Three take at least twice as many steps as one"
metric = "steps"
ratio = { of = { n = 3 }, to = { n = 1 }, at_least = 2 }
"""
RUN = "from trialwise.cli.main import main; main()"


def measured(folder: Path, text: str = TEXT, claims: str = CLAIMS, program: str = PROGRAM) -> Path:
    """Run the experiment in a folder, state the claims beside it, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "e.toml").write_text(text)
    (folder / "work").write_text(program)
    (folder / "work").chmod(0o755)
    (folder / "claims.toml").write_text(claims)
    subprocess.run([sys.executable, "-c", RUN, "run", "e.toml"], cwd=folder, check=True, capture_output=True)
    return folder


def unpacked(archive: Path, folder: Path) -> Path:
    """Unpack an artifact with the standard library, and return the folder."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder


def sign_again(folder: Path) -> None:
    """Write the manifest of a changed artifact anew, as a forger would."""
    files = sorted(
        (each.relative_to(folder).as_posix(), each)
        for each in folder.rglob("*")
        if each.is_file() and each.name != "MANIFEST.sha256"
    )
    lines = (f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {name}\n" for name, each in files)
    (folder / "MANIFEST.sha256").write_text("".join(lines))
