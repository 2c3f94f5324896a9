"""The appendix of an artifact, as EuroSys and USENIX ask for it: what the data say is filled in, the rest is marked TODO.

https://sysartifacts.github.io/eurosys2026/guide (artifact appendix), https://www.acm.org/publications/policies/artifact-review-and-badging-current
"""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.artifacts import PackedClaim, PackedExperiment
from trialwise.exchange.artifact.description import Description
from trialwise.exchange.artifact.plain_words import plain
from trialwise.exchange.artifact.readme import cost_text, estimate_text, needs_text
from trialwise.numbers import counted


def appendix_text(description: Description, archive: str, identity: str) -> str:
    """Return the appendix in Markdown.

    Parameters
    ----------
    archive
        Name of the archive.
    identity
        Its SHA-256 identity.
    """
    return "\n".join(_lines(description, plain(archive), identity)) + "\n"


def _lines(description: Description, archive: str, identity: str) -> Iterator[str]:
    yield "# Artifact Appendix"
    yield ""
    yield "## Abstract"
    yield ""
    yield f"{plain(description.about)}. TODO: what the artifact shows of the paper."
    yield ""
    yield from _requirements(description, archive, identity)
    yield "## Set-up"
    yield ""
    yield "```"
    yield "pip install trialwise"
    yield f"trialwise verify {archive}       # reads, runs nothing"
    yield f"trialwise diff {archive} here    # how this machine differs from the authors'"
    yield "```"
    yield ""
    yield "TODO: how to build or install what is not packed (see software dependencies)."
    yield ""
    yield "## Evaluation workflow"
    yield ""
    yield from _claims(description)
    yield from _experiments(description, archive)
    yield "## Notes on reusability"
    yield ""
    yield "TODO: which programs, inputs and factors others may exchange, and how."
    yield ""
    yield from _badges(description)


def _requirements(description: Description, archive: str, identity: str) -> Iterator[str]:
    yield "## Description and requirements"
    yield ""
    yield "### How to access"
    yield ""
    where = f"https://doi.org/{plain(description.doi)}" if description.doi else "TODO: DOI"
    yield f"{where}, file `{archive}`, identity `sha256:{identity}`. Licence: {plain(description.licence) or 'see LICENSE'}."
    yield ""
    yield "### Hardware dependencies"
    yield ""
    yield f"Needs: {plain(needs_text(description))}."
    for machine in dict.fromkeys(
        each for experiment in description.experiments for each in experiment.machines
    ):
        yield f"Measured on: {plain(machine)}."
    yield ""
    yield "### Software dependencies"
    yield ""
    for package in dict.fromkeys(
        each for experiment in description.experiments for each in experiment.packages
    ):
        yield f"- {plain(package)}"
    for outside in (each for experiment in description.experiments for each in experiment.outside):
        yield f"- TODO: how to get or build `{plain(outside.name)}` (SHA-256 {outside.sha256}…): {outside.why}"
    yield ""
    yield "### Benchmarks"
    yield ""
    for experiment in description.experiments:
        packed = counted(len(experiment.programs), "program or input", "programs and inputs")
        yield f"- {plain(experiment.name)}: {plain(experiment.about)}; {packed} packed"
    yield ""


def _claims(description: Description) -> Iterator[str]:
    yield "### Major claims"
    yield ""
    for claim in description.claims:
        figure = f", shown in {plain(claim.figure)}" if claim.figure else ""
        yield f"- **({claim.result.id})** {plain(claim.result.text)}. Proven by experiment {_label(description, claim)}{figure}."
    if not description.claims:
        yield "TODO: state claims (`trialwise claims DIR --suggest`)."
    yield ""


def _label(description: Description, claim: PackedClaim) -> str:
    folders = [each.folder for each in description.experiments]
    return (
        f"(E{folders.index(claim.folder) + 1})"
        if claim.folder in folders
        else "on data of another tool, recomputed only"
    )


def _experiments(description: Description, archive: str) -> Iterator[str]:
    yield "### Experiments"
    yield ""
    for number, experiment in enumerate(description.experiments, start=1):
        claims = [claim for claim in description.claims if claim.folder == experiment.folder]
        yield f"#### (E{number}) {plain(experiment.name)}"
        yield ""
        yield f"[TODO human-minutes; {_longest(claims, experiment)}]"
        yield ""
        yield f"*Preparation.* None beyond the set-up, if all programs are packed. Each trial runs `{plain(experiment.command)}`."
        yield ""
        names = ",".join(claim.result.id for claim in claims if claim.rerun)
        yield "*Execution.*"
        yield ""
        yield "```"
        yield f"trialwise verify {archive} --kick --budget 6m    # the smallest re-run that says anything"
        if names:
            yield f"trialwise verify {archive} --claim {names}"
        yield "```"
        yield ""
        yield "*Results.* The authors' data give:"
        yield ""
        for claim in claims:
            result = claim.result
            found = f"{result.verdict}: {plain(estimate_text(result))}, {counted(claim.trials, 'trial')}"
            yield f"- ({result.id}) {found}; {cost_text(claim)}"
        yield ""


def _longest(claims: list[PackedClaim], experiment: PackedExperiment) -> str:
    if not claims:
        return f"{counted(experiment.trials, 'trial')}"
    return cost_text(max(claims, key=lambda claim: claim.seconds))


def _badges(description: Description) -> Iterator[str]:
    """Yield what each badge of ACM's version 1.1 asks for, and what is there."""
    lacking = [each.name for each in description.experiments if each.outside]
    yield "## Badges (ACM, version 1.1)"
    yield ""
    yield "| badge | what is there | what is left to do |"
    yield "|---|---|---|"
    deposit = "deposit it under the DOI" if description.doi else "TODO: deposit it, and state the DOI"
    yield f"| Artifacts Available | archive, licence, CITATION.cff | {deposit} |"
    recipe = f"TODO: recipes for programs of {plain(', '.join(lacking))}" if lacking else "nothing"
    yield f"| Artifacts Evaluated – Functional | README, programs, all trials, hash chain, RO-Crate | {recipe} |"
    yield "| Artifacts Evaluated – Reusable | plan and programs apart from data, tables with a schema | TODO: notes on reusability |"
    claims = "nothing" if description.claims else "TODO: state claims"
    yield f"| Results Reproduced | one command for each claim, with its cost and verdict | {claims} |"
