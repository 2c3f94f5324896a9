"""Plain text for people: columns, and lines wrapped to the terminal with a hanging indent."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from trialwise.report.terminal_table import Grid, Line, aligned
from trialwise.visible import cell_width, visible_lines

if TYPE_CHECKING:
    from rich.console import Console

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size(count: float) -> str:
    """A number of bytes as people read it: `64 GiB`, `2.2 KiB`, `0 B`."""
    power = 0
    while round(count, 1) >= 1024 and power < len(_UNITS) - 1:
        count /= 1024
        power += 1
    return f"{count:.1f}".removesuffix(".0") + f" {_UNITS[power]}"


def columns(rows: Sequence[Sequence[str]], indent: int = 2, *, has_heading: bool = True) -> Grid:
    """Make a table of cells under one another; columns of whole numbers below the heading to the right."""
    width = len(rows[0]) if rows else 0
    bodies = rows[1:] or rows
    numeric = [place for place in range(width) if all(row[place].isdecimal() for row in bodies)]
    return aligned(rows, numeric, indent, has_heading=has_heading)


def room() -> int | None:
    """How many columns the terminal on standard output has; None where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def say(lines: Iterable[Line]) -> None:
    """Print lines and tables to standard output; on a terminal, sentences wrap between words and tables change their layout.

    Foreign characters that a terminal would act on are shown as escapes.
    """
    width = room()
    for line in lines:
        for text in fitted(line, width):
            print(text)


def show(console: Console, lines: Iterable[Line]) -> None:
    """Print lines and tables to a console, as `say` does to standard output."""
    width = console.width if console.is_terminal else None
    for line in lines:
        for text in fitted(line, width):
            console.print(text, markup=False, soft_wrap=True)


def fitted(line: Line, width: int | None) -> Iterator[str]:
    """Lay a line or a table out for a terminal of that width; None is a pipe, which has none."""
    if isinstance(line, Grid):
        yield from (text for text, _ in line.lines(width))
    elif width is None or width <= 20:
        yield visible_lines(line)
    else:
        yield from _wrapped(visible_lines(line), width)


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


def whole_words(text: str, width: int) -> str:
    """Shorten a line to a width by leaving out words at its end, so that no number is cut."""
    if cell_width(text) <= width:
        return text
    words = text.split(" ")
    while words and cell_width(" ".join(words)) + 2 > width:
        words.pop()
    return f"{' '.join(words)} …" if words else "…"


def echo(text: str = "", *, end: str = "\n", to: TextIO | None = None) -> None:
    """Print text of ours that may hold foreign names to standard output or the stream given, control characters as escapes."""
    print(visible_lines(text), end=end, file=to, flush=True)


def print_data(text: str) -> None:
    """Print a document for programs (CSV, LaTeX, TOML, a trace) to standard output as it is; its writer has escaped foreign text."""
    print(text, end="")


def rewrite_line(text: str, *, end: str = "") -> None:
    """Write over the last line of a terminal on standard error."""
    print(f"\r\x1b[K{visible_lines(text)}", end=end, file=sys.stderr, flush=True)


def clear_screen() -> None:
    """Empty the terminal on standard output."""
    print("\x1b[H\x1b[2J", end="")
