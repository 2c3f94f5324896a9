"""Plain text for people: columns, and lines wrapped to the terminal with a hanging indent."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size(count: float) -> str:
    """A number of bytes as people read it: `64 GiB`, `2.2 KiB`, `0 B`."""
    power = 0
    while round(count, 1) >= 1024 and power < len(_UNITS) - 1:
        count /= 1024
        power += 1
    return f"{count:.1f}".removesuffix(".0") + f" {_UNITS[power]}"


def columns(rows: Sequence[Sequence[str]], indent: int = 2) -> Iterator[str]:
    """Lines with the cells of `rows` under one another, two spaces apart; numbers to the right."""
    if not rows:
        return
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    numeric = [all(row[index].isdecimal() for row in rows[1:] or rows) for index in range(len(widths))]
    for row in rows:
        cells = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        yield (" " * indent + "  ".join(cells)).rstrip()


def room() -> int | None:
    """How many columns the terminal on standard output has; None where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def say(lines: Iterable[str]) -> None:
    """Print lines to standard output; on a terminal, long ones are wrapped between words."""
    width = room() or 0
    for line in lines:
        print("\n".join(_wrapped(line, width)) if width > 20 else line)


def _wrapped(line: str, width: int) -> list[str]:
    indent = len(line) - len(line.lstrip()) + 4
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    ) or [""]
