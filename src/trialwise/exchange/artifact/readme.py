"""The README of an artifact: half an hour for an evaluator, then the details; all of it from the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from trialwise.analysis.artifacts import UNKNOWN_COST, PackedClaim, PackedExperiment
from trialwise.analysis.claims.results import ClaimResult
from trialwise.exchange.artifact.description import Description, Needs
from trialwise.exchange.artifact.plain_words import plain
from trialwise.experiment.claims import StatedNeeds
from trialwise.experiment.quantity import duration_text
from trialwise.numbers import counted, interval, with_bounds
from trialwise.visible import visible

NAME = "README.md"
_ACTIVE = "- Nothing is run by `trialwise verify`, and nothing is written outside of a temporary folder. It uses no network.\n"


def readme_text(description: Description) -> bytes:
    """Return README.md, in Markdown."""
    return ("\n".join(_lines(description)) + "\n").encode()


def _lines(description: Description) -> Iterator[str]:
    yield f"# {plain(description.title)}"
    yield ""
    yield plain(description.about)
    yield ""
    yield "## Part 1: the first 30 minutes"
    yield ""
    yield "```"
    yield "pip install trialwise"
    yield "trialwise verify .            # this folder, or the archive: under a minute"
    yield "trialwise diff . here         # how your machine differs"
    yield "```"
    yield ""
    yield "`trialwise verify` compares every file with `MANIFEST.sha256` (`sha256sum -c MANIFEST.sha256` does the same without"
    yield "Trialwise), and computes each claim again from the recorded trials."
    yield _ACTIVE
    yield from _claims(description.claims)
    yield from _figures(description.experiments)
    yield "## Part 2: details"
    yield ""
    for experiment in description.experiments:
        yield from _experiment(experiment)
    yield from _needs(description)
    yield "### What a hash cannot show"
    yield ""
    yield "That nothing was changed since it was packed, and not that it was measured as it says: trials that were never recorded,"
    yield "programs that report false numbers, and a manifest that somebody wrote anew are beyond it."


def _claims(claims: Sequence[PackedClaim]) -> Iterator[str]:
    yield "### Claims"
    yield ""
    if not claims:
        yield "None are stated."
        yield ""
        return
    yield "| claim | sentence | the authors' result | n | trials | time that they took | CPU time | peak memory | disk | root |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for claim in claims:
        result = claim.result
        cells = (
            result.id,
            result.text,
            f"{result.verdict}: {estimate_text(result)}",
            " + ".join(map(str, result.n)),
            str(claim.trials),
            duration_text(claim.seconds),
            "not recorded" if claim.processor is None else duration_text(claim.processor),
            "not recorded" if claim.memory is None else size_text(claim.memory),
            size_text(claim.size),
            "not recorded" if claim.root is None else "yes" if claim.root else "no",
        )
        yield f"| {' | '.join(map(_cell, cells))} |"
    yield ""
    yield "Times are from the first to the last moment of the trials that a claim rests on, resets included, on the authors' machine."
    yield "Peak memory is that of the largest process of a trial, and *root* says whether the trials ran with the rights of root."
    if any(claim.processor is None or claim.memory is None for claim in claims):
        yield UNKNOWN_COST
    yield ""


def _figures(experiments: Sequence[PackedExperiment]) -> Iterator[str]:
    yield "### Figures"
    yield ""
    yield "Those that claims name are in `figures/`. All others are drawn from the packed trials, and written outside of this folder:"
    yield ""
    yield "```"
    for folder in (each.folder for each in experiments):
        words = (f"./{folder}", "--svg", f"../figures-{folder}", "-o", f"../{folder}.html")
        yield f"trialwise report {' '.join(map(quote, words))}"
    yield "```"
    yield ""


def estimate_text(result: ClaimResult) -> str:
    """Return the estimate of a claim with its interval and unit."""
    value, low, high = with_bounds(result.estimate, result.low, result.high)
    return f"{value} ({interval(low, high)}){f' {result.unit}' if result.unit else ''}"


def size_text(size: float) -> str:
    """Return a size in bytes as people read it."""
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 / 10 else "below 0.1 MiB"


def cost_text(claim: PackedClaim) -> str:
    """Return what the trials of a claim took on the authors' machine."""
    parts = (
        duration_text(claim.seconds),
        "" if claim.processor is None else f"{duration_text(claim.processor)} of CPU time",
        "" if claim.memory is None else f"{size_text(claim.memory)} of memory",
        f"{size_text(claim.size)} of disk",
        "" if claim.root is None else "as root" if claim.root else "no root",
    )
    return ", ".join(filter(None, parts))


def _experiment(experiment: PackedExperiment) -> Iterator[str]:
    yield f"### {plain(experiment.name)} (`{experiment.folder}/`)"
    yield ""
    yield f"{counted(experiment.trials, 'trial')} of {counted(experiment.treatments, 'treatment')}. Each runs:"
    yield ""
    yield "```"
    yield visible(experiment.command).replace("```", "'''")
    yield "```"
    yield ""
    yield f"- `{experiment.folder}/experiment.toml` is the plan, `{experiment.folder}/ledger.sqlite` has a row for every trial."
    if experiment.programs:
        yield f"- {counted(len(experiment.programs), 'program or input', 'programs and inputs')} in `programs/{experiment.folder}/`."
    if experiment.head is not None:
        yield f"- The hash chain of the ledger has {counted(experiment.rows, 'row')} and ends with `{experiment.head}`."
    if experiment.packages:
        yield f"- From packages of the system: {plain(', '.join(experiment.packages))}."
    for excluded in experiment.excluded:
        yield f"- Left out of the analysis: {plain(excluded)}."
    for outside in experiment.outside:
        yield f"- Not packed: `{plain(outside.name)}` (SHA-256 {outside.sha256}…): {outside.why}."
    yield ""


def _needs(description: Description) -> Iterator[str]:
    yield "### What a machine needs"
    yield ""
    yield f"{plain(needs_text(description))}."
    yield ""


def needs_text(description: Description) -> str:
    """Return what a machine needs, as the authors state it; and whether their trials had more rights than that."""
    needs = description.needs
    had = any(claim.root for claim in description.claims)
    without = (
        "no rights of root are stated, but the authors' trials ran with them" if had else "no rights of root"
    )
    return ", ".join(stated_needs(needs, "" if needs.root else without))


def stated_needs(needs: StatedNeeds | Needs, root: str = "") -> list[str]:
    """Return what a machine needs, as the authors state it; `root` is said in the place of rights that are not stated."""
    stated = (
        counted(needs.cores, "core") if needs.cores else "",
        f"{needs.memory} of memory" if needs.memory else "",
        f"{needs.disk} of free disk space" if needs.disk else "",
        "the rights of root" if needs.root else root,
        *needs.other,
    )
    return list(filter(None, stated))


def _cell(text: str) -> str:
    return plain(text).replace("|", "\\|")
