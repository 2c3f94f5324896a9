"""An analysis of order as a LaTeX table, in the form of the paper's Tables 3 to 5."""

from __future__ import annotations

from trialwise.analysis.order.results import OrderAnalysis, TreatmentOrder
from trialwise.report.documents.order import CORRECTIONS
from trialwise.report.numbers import ABSENT, counted
from trialwise.report.render.latex import escaped


def order_latex(found: OrderAnalysis) -> str:
    """Write a table with booktabs in the form of the paper's Tables 3 to 5, with η² added."""
    lines = [
        "% Written by `trialwise order --latex`; needs \\usepackage{booktabs}.",
        f"% {counted(len(found.treatments), 'comparison')}, {CORRECTIONS[found.correction]}, alpha = {found.alpha:g}",
        r"\begin{tabular}{lrrcrrr}",
        r"\toprule",
        r"test & KW $p$ & corrected & KW test & $\Delta\%$ & $\eta^2$ & CI case \\",
        r"\midrule",
        *(_row(one) for one in found.treatments),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _row(one: TreatmentOrder) -> str:
    name = f"{one.treatment} ({one.group})" if one.group else one.treatment
    mark = r"$\bullet$" if one.significant else r"$\circ$"
    cells = (
        escaped(name),
        _number(one.p_value, ".2g"),
        _number(one.p_corrected, ".2g"),
        mark if one.p_value is not None else ABSENT,
        _number(one.percent_difference, ".1f"),
        _number(one.eta_squared, ".3f"),
        ABSENT if one.case is None else str(one.case),
    )
    return " & ".join(cells) + r" \\"


def _number(value: float | None, form: str) -> str:
    if value is None or value != value:  # noqa: PLR0124 NaN
        return ABSENT
    return f"${value:{form}}$"
