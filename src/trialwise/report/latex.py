r"""Numbers and tables for LaTeX: one `\newcommand` for each number of a claim or an estimate, and tables with booktabs.

`numbers.tex` needs only `\input`; `tables.tex` needs the package booktabs. The names of macros are in `macros`;
each macro is listed beside the sentence that it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.order.summary import OrderSummary
from trialwise.analysis.results import Analysis
from trialwise.report.beside import words_of
from trialwise.report.claim_writing import claims
from trialwise.report.claims import Claim
from trialwise.report.document import Name, Table
from trialwise.report.documents import order_page
from trialwise.report.documents import verdicts as comparisons
from trialwise.report.estimation_claims import estimate_claims
from trialwise.report.estimation_tables import estimation_tables
from trialwise.report.macros import MacroNames
from trialwise.report.numbers import Number
from trialwise.report.plot_rows import labels
from trialwise.report.render.latex import latex_number, latex_table, latex_text
from trialwise.report.tables import kpi_tables


def latex_files(
    analysis: Analysis, order: OrderSummary | None = None, verdicts: VerdictSummary | None = None
) -> dict[str, str]:
    """Return the texts of `numbers.tex`, `claims.tex` and `tables.tex` by file name."""
    sentences = _sentences(analysis)
    return {
        "numbers.tex": "\n".join([_HEAD, *_macros(sentences)]) + "\n",
        "claims.tex": "\n\n".join([_CLAIMS, *(latex_text(claim.pieces) for claim in sentences)]) + "\n",
        "tables.tex": "\n\n".join(
            [_TABLES, *(latex_table(table.without_remarks) for table in _tables(analysis, order, verdicts))]
        )
        + "\n",
    }


def _sentences(analysis: Analysis) -> tuple[Claim, ...]:
    """Return the report's sentences, then one for each estimate."""
    found = claims(analysis)
    if analysis.estimation is None:
        return found
    taken = MacroNames(number.macro for claim in found for number in claim.numbers)
    return (*found, *estimate_claims(analysis.estimation, taken))


def _tables(analysis: Analysis, order: OrderSummary | None, verdicts: VerdictSummary | None) -> list[Table]:
    judged = order.found if order and not order.refusal else None
    return [
        *words_of(analysis).paper_tables(),
        *(table for place in range(len(analysis.metrics)) for table in kpi_tables(analysis, place)),
        *(estimation_tables(analysis.estimation, labels(analysis)) if analysis.estimation else ()),
        *(comparisons.tables_for_print(verdicts, labels(analysis)) if verdicts else ()),
        *(order_page.tables(judged) if judged else ()),
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
    """Write the sentence with its numbers in the metric's unit, as the macros have them."""
    plain = (piece.with_unit if isinstance(piece, Number) else _marked(piece) for piece in claim.pieces)
    return " ".join("".join(plain).split())


def _marked(piece: str | Name) -> str:
    return f"`{piece.text}`" if isinstance(piece, Name) else piece
