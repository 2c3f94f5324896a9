"""Read small files of /proc and /sys: absent or unreadable ones give None, never an error.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Tree:
    """The file system below `root`, which is ``/`` outside tests."""

    root: Path

    def text(self, path: str) -> str | None:
        """Return the file's text without surrounding white space and zero bytes."""
        try:
            return (self.root / path).read_text(errors="replace").strip().strip("\0")
        except (OSError, ValueError):
            return None

    def content(self, path: str, most: int) -> bytes:
        """Return the first `most` bytes of a file; none if it is absent."""
        try:
            with (self.root / path).open("rb") as file:
                return file.read(most)
        except (OSError, ValueError):
            return b""

    def target(self, path: str) -> str | None:
        """Return what a symbolic link leads to; None if it is none."""
        try:
            return os.readlink(self.root / path)
        except (OSError, ValueError):
            return None

    def linked(self, path: str) -> str | None:
        """Return the last part of what a symbolic link leads to, such as the driver of a device; None if it is none."""
        return (self.target(path) or "").rpartition("/")[2] or None

    def identifiers(self, path: str) -> str | None:
        """Return vendor and device of a device's folder, such as ``8086:1572``."""
        texts = [self.text(f"{path}/{name}") for name in ("vendor", "device")]
        return ":".join(text[2:] if text[:2] == "0x" else text for text in texts if text) or None

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
