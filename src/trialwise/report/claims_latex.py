r"""LaTeX macros of checked claims: `\twCOneEstimate`, `\twCOneLow`, `\twCOneHigh` and `\twCOneN` for claim C1."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.claims.results import ClaimResult, ClaimsCheck
from trialwise.report.macros import MacroNames
from trialwise.report.numbers import Number
from trialwise.report.render.latex import escaped, latex_number
from trialwise.report.units import scale
from trialwise.visible import visible


def claims_macros(found: ClaimsCheck) -> str:
    """Return the macros, each claim's below its sentence, its verdict and its unit."""
    names = MacroNames()
    head = "% Written by `trialwise claims --latex`: \\input this file in the preamble."
    return "\n".join([head, *(line for claim in found.claims for line in _of(claim, names))]) + "\n"


def _of(claim: ClaimResult, names: MacroNames) -> Iterator[str]:
    size = scale((claim.estimate, claim.low, claim.high), claim.unit)
    unit = f", in {visible(size.unit)}" if size.unit else ""
    yield f"% {claim.id} ({claim.verdict}{unit}): {visible(claim.text)}"
    numbers = (
        ("estimate", Number(claim.estimate, power=size.power)),
        ("low", Number(claim.low, rounding="down", power=size.power)),
        ("high", Number(claim.high, rounding="up", power=size.power)),
        ("n", Number(min(claim.n), kind="count")),
    )
    for name, number in numbers:
        if number.value is not None:
            yield f"\\newcommand{{\\{names.name(claim.id, name)}}}{{{latex_number(number.text)}}}"
    yield f"\\newcommand{{\\{names.name(claim.id, 'verdict')}}}{{{escaped(claim.verdict)}}}"
