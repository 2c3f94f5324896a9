"""Sentences on an experiment over paths: what ran, which trials are invalid and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.analysis.path.results import Harm, HarmCell, PathAnalysis
from trialwise.analysis.results import Analysis
from trialwise.report.numbers import counted

_MOST = 3
"""Maximum number of reasons listed; more are left to the table of failures."""


def path_lead(path: PathAnalysis) -> str:
    """Say in one sentence what ran."""
    if not path.flows:  # recorded by another tool, which does not say
        each = f"Runs of {path.runtime:g} s: " if path.runtime else ""
        return f"{each}{counted(sum(found.trials for found in path.treatments), 'valid trial')}."
    flows = counted(path.flows, "flow")
    ways = list(dict.fromkeys(_way(found.uplink, found.downlink) for found in path.paths))
    over = f" over {ways[0]}" if len(ways) == 1 else f" over {counted(len(ways), 'path')}" if ways else ""
    trials = counted(sum(found.trials for found in path.treatments), "valid trial")
    return f"{flows} in each trial of {path.runtime:g} s{over}; {trials}."


def _way(uplink: str, downlink: str) -> str:
    return uplink if uplink == downlink else f"uplink {uplink}; downlink {downlink}"


def harm_lead(harm: Harm) -> str:
    """Say in one sentence who harms whom, metric by metric."""
    metrics = dict.fromkeys(cell.metric for cell in harm.cells)
    return "; ".join(
        f"{metric}: {_harmed([cell for cell in harm.cells if cell.metric == metric])}" for metric in metrics
    )


def _harmed(cells: Sequence[HarmCell]) -> str:
    """Group those that harm the same ones, and say what stays open."""
    harmed: dict[str, list[str]] = {cell.other: [] for cell in cells}
    for cell in cells:
        if cell.verdict == "harms":
            harmed[cell.other].append("itself" if cell.name == cell.other else cell.name)
    everyone = len(dict.fromkeys(cell.name for cell in cells))
    by_victims: dict[tuple[str, ...], list[str]] = {}
    for other, names in harmed.items():
        victims = ("all",) if len(names) == everyone > 1 else tuple(names)
        by_victims.setdefault(victims, []).append(other)
    said = [
        f"{_listed(others)} {'harms' if len(others) == 1 else 'harm'} {_listed(victims)}"
        for victims, others in by_victims.items()
        if victims
    ] or ["nobody is shown to harm another"]
    unsure = sum(cell.verdict == "undecided" for cell in cells)
    return ", ".join(said) + (f" ({unsure} of {len(cells)} undecided)" if unsure else "")


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def invalid_sentences(analysis: Analysis) -> Iterator[str]:
    """Say which trials are invalid, each reason with its numbers; one sentence if there are many reasons."""
    reasons: dict[str, list[int]] = {}
    for failure in analysis.failures:
        if failure.status == "invalid":
            reasons.setdefault(failure.reason or "no reason was given", []).append(failure.number)
    count = sum(map(len, reasons.values()))
    if not count:
        return
    are = "is" if count == 1 else "are"
    yield f"{counted(count, 'trial')} {are} not valid: left out of all results, crosses on the plane, and listed under Failures."
    for reason, numbers in list(reasons.items())[:_MOST]:
        listed = ", ".join(map(str, numbers))
        yield f"Trial{'s' if len(numbers) > 1 else ''} {listed}: {reason}."
    if len(reasons) > _MOST:
        yield f"Under Failures: {counted(len(reasons) - _MOST, 'more reason')}."
