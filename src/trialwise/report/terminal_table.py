"""Tables in the terminal: columns under one another, and numbers that fit into them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import isfinite

from trialwise.report.numbers import ABSENT


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = (), indent: int = 2) -> Iterator[str]:
    """Lines with the cells of `rows` under one another, two spaces apart; columns of `right` flush right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield (" " * indent + "  ".join(cells)).rstrip()


def about(value: float | None) -> str:
    """Three significant digits, all digits of the whole part."""
    if value is None or not isfinite(value):
        return ABSENT
    if abs(value) >= 1000:
        return f"{value:.0f}" if abs(value) < 1e9 else f"{value:.3g}"
    return f"{value:.3g}"
