"""Read small files of /proc and /sys: absent or unreadable ones give None, never an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Tree:
    """The file system below `root`, which is ``/`` outside tests."""

    root: Path

    def text(self, path: str) -> str | None:
        """Return the file's text without surrounding white space and zero bytes."""
        try:
            return (self.root / path).read_text(errors="replace").strip().strip("\0")
        except (OSError, ValueError):
            return None

    def lines(self, path: str) -> list[str]:
        """Return the file's lines; none if it is absent."""
        return (self.text(path) or "").splitlines()

    def integer(self, path: str) -> int | None:
        """Return the file's content as an integer."""
        text = self.text(path)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def chosen(self, path: str) -> str | None:
        """Return the word in brackets, as in ``always [madvise] never``; else the whole text."""
        text = self.text(path)
        return text.split("[", 1)[1].split("]", 1)[0] if text and "[" in text else text

    def exists(self, path: str) -> bool:
        """Return True if the file exists."""
        try:
            return (self.root / path).exists()
        except OSError:
            return False

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, sorted; none if it is absent."""
        try:
            return sorted(entry.name for entry in (self.root / path).iterdir())
        except OSError:
            return []

    def fields(self, path: str, separator: str = ":") -> dict[str, str]:
        """Return the first value of each name in lines such as ``MemTotal:   16384 kB``."""
        found: dict[str, str] = {}
        for line in self.lines(path):
            name, mark, value = line.partition(separator)
            if mark:
                found.setdefault(name.strip(), value.strip())
        return found
