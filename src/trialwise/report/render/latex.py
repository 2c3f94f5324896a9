r"""Render documents as LaTeX: one `\newcommand` for each named number, sentences that use them, and tables with booktabs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from trialwise.report.document import (
    Block,
    Cell,
    Chapter,
    Code,
    Details,
    Document,
    Items,
    Name,
    Note,
    Piece,
    Table,
    Text,
    pieces,
    plain,
)
from trialwise.report.numbers import ABSENT, Estimate, Number
from trialwise.visible import visible

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "−": "$-$",
    "µ": r"$\mu$",
    "μ": r"$\mu$",
    "Δ": r"$\Delta$",
    "δ": r"$\delta$",
    "η": r"$\eta$",
    "²": r"$^2$",
    "°": r"$^\circ$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "√": r"$\surd$",
    "→": r"$\rightarrow$",
    "…": r"\ldots{}",
    "•": r"$\bullet$",
    "○": r"$\circ$",
    "∞": r"$\infty$",
    "ω": r"$\omega$",
    "`": r"\textasciigrave{}",
    "\n": " ",
}
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")
_EXPONENT = re.compile(r"^(-?[\d.]+)e([+-]\d+)$")


def latex(document: Document) -> Mapping[str, str]:
    """Return the texts of `numbers.tex`, `claims.tex` and `tables.tex` by file name; nothing is shortened."""
    sentences = [document.answer.text, *_sentences(document.blocks)]
    return {
        "numbers.tex": "".join(f"{line}\n" for line in _macros(sentences)),
        "claims.tex": "\n\n".join(map(latex_text, sentences)) + "\n",
        "tables.tex": "\n\n".join(latex_table(table) for table in document.tables if table.rows) + "\n",
    }


def _sentences(blocks: Iterable[Block]) -> Iterator[Text]:
    for block in blocks:
        match block:
            case Note(text):
                yield text
            case Items(lines):
                yield from lines
            case Details(_, inner) | Chapter(_, _, inner):
                yield from _sentences(inner)
            case _:
                pass


def _macros(sentences: Iterable[Text]) -> Iterator[str]:
    for text in sentences:
        named = [piece for piece in text if isinstance(piece, Number) and piece.macro]
        yield from (f"\\newcommand{{\\{number.macro}}}{{{latex_number(number.text)}}}" for number in named)


def latex_text(cell: Cell) -> str:
    """Render a text or cell; a number that has a macro becomes that macro."""
    return "".join(map(_piece, pieces(cell)))


def _piece(piece: Piece) -> str:
    match piece:
        case Number():
            number = f"\\{piece.macro}{{}}" if piece.macro else latex_number(piece.text)
            return f"{number}~{escaped(piece.unit)}" if piece.unit and piece.text != ABSENT else number
        case Estimate():
            inside = f" ({escaped(piece.inside)})" if piece.inside else ""
            return _MINUS.sub("$-$", escaped(piece.before).replace(" ", "~") + inside)
        case Name(text) | Code(text):
            return f"\\texttt{{{escaped(text)}}}"
        case str():
            return escaped(piece).replace(r" \%", r"~\%").replace("n = ", "$n$~=~")


def latex_table(table: Table) -> str:
    """Write a table with booktabs, and the sentences below it."""
    facts = (f"\\par {latex_text(text)}" for text in table.facts)
    return floating(table.key, latex_text(table.caption), [*_tabular_of(table), *facts])


def latex_file(tables: Iterable[Table], command: str) -> str:
    """Write tables without floats around them, for a separate file; their captions and facts are comments."""
    lines = [f"% Written by `{command}`; needs \\usepackage{{booktabs}}."]
    for table in tables:
        lines += [
            _comment(table.caption or ("no inference",)),
            *_tabular_of(table),
            *map(_comment, table.facts),
        ]
    return "".join(f"{line}\n" for line in (lines if len(lines) > 1 else [*lines, "% no inference"]))


def _comment(text: Text) -> str:
    return f"% {visible(' '.join(plain(text).split()))}"


def _tabular_of(table: Table) -> Iterator[str]:
    heads = [column.title for column in table.columns]
    numeric = {place for place, column in enumerate(table.columns) if column.is_numeric}
    return tabular(heads, [tuple(map(latex_text, row)) for row in table.rows], numeric)


def floating(key: str, caption: str, lines: Iterable[str]) -> str:
    """Wrap lines in a `table` environment with a caption, which is LaTeX already, and a label."""
    label = re.sub(r"[^A-Za-z0-9-]", "-", key)
    begin = [r"\begin{table}", rf"\caption{{{caption}}}\label{{tab:{label}}}"]
    return "\n".join([*begin, *lines, r"\end{table}"])


def tabular(heads: Iterable[str], rows: Iterable[Sequence[str]], numeric: Collection[int]) -> Iterator[str]:
    """Yield the lines of a booktabs tabular: headings are escaped, cells are already LaTeX; `numeric` columns are right-aligned."""
    titles = [escaped(head) for head in heads]
    yield rf"\begin{{tabular}}{{{''.join('r' if place in numeric else 'l' for place in range(len(titles)))}}}"
    yield r"\toprule"
    yield _line(titles)
    yield r"\midrule"
    yield from map(_line, rows)
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def latex_number(text: str) -> str:
    """Write a printed number in LaTeX; it works in text and in formulas."""
    if text == ABSENT:
        return "--"
    if exponent := _EXPONENT.match(text):
        return f"\\ensuremath{{{exponent[1]} \\times 10^{{{int(exponent[2])}}}}}"
    if text.startswith(("-", "<")):
        return f"\\ensuremath{{{text.replace('< ', '<')}}}"
    return escaped(text)


def escaped(text: str) -> str:
    """Escape a text so that LaTeX prints it as it is; characters that common fonts lack become question marks."""
    return "".join(_SPECIAL.get(letter) or (letter if letter.isprintable() else "?") for letter in text)
