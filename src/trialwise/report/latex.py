r"""Numbers and tables for LaTeX: one `\newcommand` for each number of a claim or an estimate, and tables with booktabs.

`numbers.tex` needs nothing but `\input`; `tables.tex` needs the package booktabs. The names of macros are in `macros`;
each macro stands beside the sentence that it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trialwise.analysis.comparison.between import VerdictView
from trialwise.analysis.order_view import OrderView
from trialwise.analysis.results import Analysis
from trialwise.report.claim_writing import claims
from trialwise.report.claims import Claim, Piece, Term
from trialwise.report.estimation_claims import estimate_claims
from trialwise.report.estimation_tables import estimation_tables
from trialwise.report.macros import MacroNames
from trialwise.report.numbers import ABSENT, Number
from trialwise.report.order_tables import order_tables
from trialwise.report.path_tables import path_paper_tables
from trialwise.report.points import labels
from trialwise.report.tables import Cell, Table, kpi_tables
from trialwise.report.verdict_section import section_tables

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
    "η": r"$\eta$",
    "²": r"$^2$",
    "°": r"$^\circ$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "√": r"$\surd$",
    "→": r"$\rightarrow$",
    "…": r"\ldots{}",
    "`": r"\textasciigrave{}",
    "\n": " ",
}
_EXPONENT = re.compile(r"^(-?[\d.]+)e([+-]\d+)$")


def latex_files(
    analysis: Analysis, order: OrderView | None = None, verdicts: VerdictView | None = None
) -> dict[str, str]:
    """The texts of `numbers.tex`, `claims.tex` and `tables.tex` by file name."""
    sentences = _sentences(analysis)
    return {
        "numbers.tex": "\n".join([_HEAD, *_macros(sentences)]) + "\n",
        "claims.tex": "\n\n".join([_CLAIMS, *map(_sentence, sentences)]) + "\n",
        "tables.tex": "\n\n".join(
            [_TABLES, *(latex_table(table.without_remarks) for table in _tables(analysis, order, verdicts))]
        )
        + "\n",
    }


def _sentences(analysis: Analysis) -> tuple[Claim, ...]:
    """Those of the report, then one for each estimate."""
    found = claims(analysis)
    if analysis.estimation is None:
        return found
    taken = MacroNames(number.macro for claim in found for number in claim.numbers)
    return (*found, *estimate_claims(analysis.estimation, taken))


def _tables(analysis: Analysis, order: OrderView | None, verdicts: VerdictView | None) -> list[Table]:
    judged = order.found if order and not order.refusal else None
    return [
        *path_paper_tables(analysis),
        *kpi_tables(analysis),
        *(estimation_tables(analysis.estimation, labels(analysis)) if analysis.estimation else ()),
        *(section_tables(verdicts, labels(analysis)) if verdicts else ()),
        *(order_tables(judged) if judged else ()),
    ]


_HEAD = (
    "% Written by `trialwise report --latex`: one macro for each number. \\input this file in the preamble."
)
_CLAIMS = "% Written by `trialwise report --latex`: the sentences, with the macros of numbers.tex."
_TABLES = "% Written by `trialwise report --latex`: tables; they need \\usepackage{booktabs}."


# Numbers


def _macros(sentences: Iterable[Claim]) -> Iterator[str]:
    for claim in sentences:
        named = [number for number in claim.numbers if number.macro]
        if named:
            yield f"% {_comment(claim)}"
            yield from (
                f"\\newcommand{{\\{number.macro}}}{{{latex_number(number.text)}}}" for number in named
            )


def _comment(claim: Claim) -> str:
    """The sentence with its numbers in the unit of the metric, as the macros have them."""
    plain = (piece.with_unit if isinstance(piece, Number) else _marked(piece) for piece in claim.pieces)
    return " ".join("".join(plain).split())


def _marked(piece: str | Term) -> str:
    return f"`{piece.text}`" if isinstance(piece, Term) else piece


def latex_number(text: str) -> str:
    """A number as it is printed, in LaTeX; it works in text and in formulas."""
    exponent = _EXPONENT.match(text)
    if exponent:
        return f"\\ensuremath{{{exponent[1]} \\times 10^{{{int(exponent[2])}}}}}"
    return f"\\ensuremath{{{text}}}" if text.startswith("-") else "--" if text == ABSENT else text


# Sentences and tables


def _sentence(claim: Claim) -> str:
    return "".join(map(_piece, claim.pieces))


def _piece(piece: Piece) -> str:
    if isinstance(piece, Number):
        number = f"\\{piece.macro}{{}}" if piece.macro else latex_number(piece.text)
        return f"{number}~{escaped(piece.unit)}" if piece.unit else number
    if isinstance(piece, Term):
        return f"\\texttt{{{escaped(piece.text)}}}"
    return escaped(piece).replace(r" \%", r"~\%").replace("n = ", "$n$~=~")


def latex_table(table: Table) -> str:
    """A table with booktabs."""
    columns = "".join("r" if place in table.numeric else "l" for place in range(len(table.columns)))
    lines = [
        r"\begin{table}",
        rf"\caption{{{escaped(table.caption)}}}\label{{tab:{re.sub(r'[^A-Za-z0-9-]', '-', table.key)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line(map(escaped, table.columns)),
        r"\midrule",
        *(_line(map(_cell, row)) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Number):
        return latex_number(cell.text)
    return f"\\texttt{{{escaped(cell.text)}}}" if isinstance(cell, Term) else escaped(cell)


def escaped(text: str) -> str:
    """A text that LaTeX prints as it is; what the common fonts lack becomes a question mark."""
    return "".join(_SPECIAL.get(letter) or (letter if letter.isprintable() else "?") for letter in text)
