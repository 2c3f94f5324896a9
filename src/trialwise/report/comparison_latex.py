"""A comparison as a table for LaTeX (booktabs)."""

from __future__ import annotations

from collections.abc import Sequence

from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.report import comparison_words as words
from trialwise.report.comparison_text import PAPER_HEAD, paper_rows
from trialwise.report.render.latex import escaped
from trialwise.report.units import Scale


def comparison_latex(found: Comparison) -> str:
    """Means, the difference and the ratio with their intervals, p and the verdict of each row."""
    title, names = words.row_names(found)
    head = (title, "metric", "n", "A", "B", "B − A", "B / A", words.P_FOR, "verdict")
    scales = words.scales_of(found.rows)
    rows = [_cells(row, names[row.treatment], scales[row.metric.name]) for row in found.rows]
    return _tabular("llcrrrrrl", head, rows, words.method_of(found))


def _cells(row: ComparisonRow, name: str, shown: Scale) -> Sequence[str]:
    return (
        name,
        words.metric_of(row, shown),
        words.n_of(row),
        *map(shown.write, row.summary.means),
        words.difference_of(row, shown),
        words.ratio_of(row),
        words.claim_p_of(row),
        words.verdict_of(row),
    )


def paper_latex(found: Comparison) -> str:
    """The table of Pantheon's replication walkthrough."""
    return _tabular("lrrlrrrrrr", PAPER_HEAD, paper_rows(found), "no inference")


def _tabular(columns: str, head: Sequence[str], rows: Sequence[Sequence[str]], method: str) -> str:
    lines = [
        "% Written by `trialwise compare --latex`; needs \\usepackage{booktabs}.",
        f"% {method}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line(head),
        r"\midrule",
        *(_line(row) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(escaped(cell) for cell in cells) + r" \\"
