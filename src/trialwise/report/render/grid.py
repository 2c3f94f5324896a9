"""Lay out tables in the terminal: a table that does not fit changes its layout and is never cut."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from trialwise.visible import cell_width, visible

_GAP = 2
_INDENT = 2
_MAX_WORD = 20
"""Longer words without a digit are folded if a table is too wide; a number never is."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table for a terminal: a heading row and rows of cells, two spaces apart; `right` are the right-aligned columns."""

    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()

    def lines(self, width: int | None) -> Iterator[tuple[str, bool]]:
        """Lay the table out in at most `width` columns, None for any number; True marks the lines of a heading.

        A table that does not fit first folds its words, then splits into stacked tables, each with the first columns that
        identify its rows; in the narrowest terminals every cell has its own line. No cell is left out or cut.
        """
        room = None if width is None else max(width - _INDENT, 1)
        places = range(len(self.rows[0])) if self.rows else ()
        if room is None or _total(_natural(self.rows, places)) <= room:
            yield from self._block(places, _natural(self.rows, places))
            return
        blocks = _blocks(_least(self.rows, self.right), self._naming, room)
        if blocks is None:
            yield from self._records(room)
            return
        for number, block in enumerate(blocks):
            if number:
                yield "", False
            yield from self._block(block, self._widths(block, room))

    @property
    def _naming(self) -> int:
        """Return the smallest number of leading columns that identify all rows; one if no number does."""
        bodies = self.rows[1:]
        counts = range(1, len(self.rows[0]))
        return next((count for count in counts if len({row[:count] for row in bodies}) == len(bodies)), 1)

    def _widths(self, block: Sequence[int], room: int) -> dict[int, int]:
        """Divide the room: each column gets its minimum width, and columns of words get the rest."""
        least, natural = _least(self.rows, self.right), _natural(self.rows, block)
        widths = {place: min(least[place], natural[place]) for place in block}
        left = room - _total(widths)
        for place in (place for place in block if place not in self.right):
            more = min(left, natural[place] - widths[place])
            widths[place] += more
            left -= more
        return widths

    def _block(self, block: Sequence[int], widths: dict[int, int]) -> Iterator[tuple[str, bool]]:
        for number, row in enumerate(self.rows):
            folded = [_folded(row[place], widths[place]) for place in block]
            for pieces in zip_longest(*folded, fillvalue=""):
                cells = (
                    _justified(piece, widths[place], right=place in self.right)
                    for place, piece in zip(block, pieces, strict=True)
                )
                yield (" " * _INDENT + (" " * _GAP).join(cells)).rstrip(), number == 0

    def _records(self, room: int) -> Iterator[tuple[str, bool]]:
        heading, *rows = self.rows
        for row in rows:
            for place, (title, cell) in enumerate(zip(heading, row, strict=True)):
                text = cell if place == 0 else f"  {title}: {cell}" if title else f"  {cell}"
                for line in wrapped(text, room, hanging=0 if place == 0 else 4):
                    yield " " * _INDENT + line, place == 0


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> Grid:
    """Make a table of aligned cells, columns in `right` right-aligned; foreign characters are made visible."""
    cells = tuple(tuple(map(visible, row)) for row in rows)
    return Grid(cells, frozenset(right))


def _natural(rows: Sequence[Sequence[str]], places: Sequence[int]) -> dict[int, int]:
    return {place: max(cell_width(row[place]) for row in rows) for place in places}


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + _GAP * max(len(widths) - 1, 0)


def _least(rows: Sequence[Sequence[str]], right: Collection[int]) -> dict[int, int]:
    """Return each column's minimum width: its longest number, or its longest word unless that is long."""
    least: dict[int, int] = {}
    for place in range(len(rows[0])):
        bodies = [cell_width(row[place]) for row in rows[1:]] if place in right else []
        words = [_word_width(word) for row in rows for word in row[place].split(" ")]
        least[place] = max([1, *bodies, *words])
    return least


def _word_width(word: str) -> int:
    width = cell_width(word)
    return width if any(map(str.isdigit, word)) else min(width, _MAX_WORD)


def _blocks(least: dict[int, int], naming: int, room: int) -> list[list[int]] | None:
    """Return the columns of each stacked table, the first `naming` in each; None if no other fits beside them."""
    names, others = list(least)[:naming], list(least)[naming:]
    beside = _total({each: least[each] for each in names}) + _GAP
    if any(beside + least[place] > room for place in others):
        return None
    blocks = [names]
    for place in others:
        if _total({each: least[each] for each in (*blocks[-1], place)}) > room:
            blocks.append(names)
        blocks[-1] = [*blocks[-1], place]
    return blocks


def _folded(cell: str, width: int) -> list[str]:
    """Fold a cell into lines of at most `width` columns between words; split words too long for a line."""
    lines = [""]
    for word in cell.split(" ") if cell_width(cell) > width else [cell]:
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_width(joined) <= width:
            lines[-1] = joined
            continue
        kept = lines if lines[-1] else lines[:-1]
        lines = [*kept, *_pieces(word, width)]
    return lines


def _pieces(word: str, width: int) -> list[str]:
    pieces = [""]
    for character in word:
        if cell_width(pieces[-1] + character) > width and pieces[-1]:
            pieces.append("")
        pieces[-1] += character
    return pieces


def _justified(text: str, width: int, *, right: bool) -> str:
    blanks = " " * (width - cell_width(text))
    return blanks + text if right else text + blanks


_WORDS = re.compile("( *)([^ ]+)")


def wrapped(text: str, width: int, hanging: int = 4) -> list[str]:
    """Wrap the text into lines of at most `width` columns, later ones indented; it breaks between words, and no word is cut.

    A no-break space holds two words together; gaps of several spaces, which align columns, stay within a line.
    """
    indent = len(text) - len(text.lstrip(" "))
    further = " " * (indent + hanging if width > 3 * (indent + hanging) else indent)
    line, lines, is_begun = text[:indent], list[str](), False
    for gap, word in _WORDS.findall(text):
        joined = line + gap + word if is_begun else line + word
        if is_begun and cell_width(joined) > width:
            lines.append(line)
            joined = further + word
        line, is_begun = joined, True
    return [*lines, line]
