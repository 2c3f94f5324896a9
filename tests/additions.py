"""Additions, made for real on a copy of the repository: what each takes, and how many files that is.

`tests/additions/NAME` has the new files of an addition, at their places, and in `lines.toml` the lines that existing files get.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
ADDITIONS = ROOT / "tests/additions"
COPIED = (
    "src",
    "tests",
    "docs",
    "schemas",
    "examples",
    "crates",
    "benches",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "RELEASING.md",
    "SECURITY.md",
    "Cargo.toml",
    "Cargo.lock",
)
"""What an addition touches, and what tries it."""
LEFT_OUT = shutil.ignore_patterns("__pycache__", "additions", "*.pyc", "target")


@dataclass(frozen=True, slots=True)
class Addition:
    """One addition: its new files, and the lines that others get."""

    name: str

    @property
    def folder(self) -> Path:
        return ADDITIONS / self.name

    @property
    def new(self) -> list[Path]:
        """The new files, relative to the repository."""
        files = (path for path in self.folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return sorted(path.relative_to(self.folder) for path in files if path.name != "lines.toml")

    @property
    def lines(self) -> list[dict[str, str]]:
        """For each line: the file, the line that stands before it, and what is added."""
        file = self.folder / "lines.toml"
        return tomllib.loads(file.read_text())["line"] if file.exists() else []

    @property
    def touched(self) -> set[str]:
        """Every file that somebody has to write or edit."""
        return {*map(str, self.new), *(line["file"] for line in self.lines)}

    def apply(self, copy: Path) -> None:
        """Make the addition in a copy of the repository; AssertionError if a line has no unique place."""
        for path in self.new:
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / path, copy / path)
        for line in self.lines:
            file = copy / line["file"]
            text, before = file.read_text(), line["after"] + "\n"
            assert text.count(before) == 1, (line["file"], before, text.count(before))
            file.write_text(text.replace(before, before + line["add"].strip("\n") + "\n"))


def copied(folder: Path) -> Path:
    """A copy of what an addition touches and what tries it."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=LEFT_OUT, symlinks=True)
        elif source.exists():
            shutil.copy(source, folder / name)
    return folder


def run(copy: Path, *words: str, seconds: float = 600, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program of this environment in a copy, which it imports."""
    binary = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy / "src"),
        "PATH": f"{binary}{os.pathsep}{os.environ['PATH']}",
        **variables,
    }
    return subprocess.run(
        words, cwd=copy, env=environment, capture_output=True, text=True, timeout=seconds, check=False
    )
