"""Plain text for people: columns, and lines wrapped to the terminal with a hanging indent."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from trialwise.report.terminal_table import Grid, Line, aligned, wrapped
from trialwise.visible import cell_width, visible_lines

if TYPE_CHECKING:
    from rich.console import Console

    from trialwise.report.document import Document
    from trialwise.report.render.terminal import Span, Style

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


_STYLES: dict[Style, str] = {"good": "32", "bad": "31", "open": "33", "strong": "1", "dim": "2", "": ""}
"""Codes of SGR (ECMA-48). Only marks are coloured, so that words can be read on dark and on light terminals."""


def say_document(document: Document, *, full: bool = False, rest: str = "all with --json") -> None:
    """Print a document to standard output, in styles on a terminal that has them; `rest` names where more of it is."""
    from trialwise.report.render.terminal import terminal

    has_styles = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for line in terminal(document, room(), full=full, rest=rest):
        print("".join(_styled(span) if has_styles else span.text for span in line))


def _styled(span: Span) -> str:
    code = _STYLES[span.style]
    return f"\x1b[{code}m{span.text}\x1b[0m" if code else span.text


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
        yield from wrapped(visible_lines(line), width)


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
