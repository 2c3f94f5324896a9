"""The RO-Crate of an artifact: version 1.3 with the profile Workflow Run Crate 0.6.

The experiment file is the workflow, and one action stands for the campaign: its trials are a table, the ledger.
https://www.researchobject.org/ro-crate/specification/1.3, https://www.researchobject.org/workflow-run-crate/profiles/0.6
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from trialwise.analysis.artifacts import PackedExperiment
from trialwise.exchange.artifact.description import LICENCE, Description, PackedFile, iso_time
from trialwise.exchange.plain import Json

NAME = "ro-crate-metadata.json"
_CRATE = "https://w3id.org/ro/crate/1.3"
_PROFILES = (
    ("https://w3id.org/ro/wfrun/process/0.6", "Process Run Crate", "0.6"),
    ("https://w3id.org/ro/wfrun/workflow/0.6", "Workflow Run Crate", "0.6"),
    ("https://w3id.org/workflowhub/workflow-ro-crate/1.0", "Workflow RO-Crate", "1.0"),
)
_URL = "https://pypi.org/project/trialwise/"
_LANGUAGE = "#trialwise-plan"
_ENGINE = "#trialwise"
_FORMATS = {
    ".csv": "text/csv",
    ".gz": "application/gzip",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".sqlite": "application/vnd.sqlite3",
    ".toml": "application/toml",
    ".txt": "text/plain",
    ".cff": "application/yaml",
}
Entity = dict[str, Json]


def crate_text(description: Description, files: Sequence[PackedFile]) -> bytes:
    """Return `ro-crate-metadata.json` for the files of an artifact, without itself and the manifest."""
    graph: list[Json] = [*_entities(description, files)]
    document = {"@context": f"{_CRATE}/context", "@graph": graph}
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def _entities(description: Description, files: Sequence[PackedFile]) -> Iterator[Entity]:
    main = _workflow(description.experiments[0])
    yield {
        "@id": NAME,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": _CRATE},
    }
    yield {
        "@id": "./",
        "@type": "Dataset",
        "name": description.title,
        "description": description.about,
        "datePublished": description.date,
        "license": {"@id": _licence(description)},
        "conformsTo": [{"@id": address} for address, _, _ in _PROFILES],
        "mainEntity": {"@id": main},
        "hasPart": [{"@id": _id(file.name)} for file in files],
        "mentions": [{"@id": _action(each)} for each in description.experiments],
        **(
            {"author": [{"@id": f"#author-{at}"} for at in range(len(description.authors))]}
            if description.authors
            else {}
        ),
        **({"identifier": f"https://doi.org/{description.doi}"} if description.doi else {}),
    }
    yield from _profiles()
    yield from _licences(description)
    for at, author in enumerate(description.authors):
        yield {
            "@id": f"#author-{at}",
            "@type": "Person",
            "name": author.name,
            **({"identifier": f"https://orcid.org/{author.orcid}"} if author.orcid else {}),
        }
    yield from _tools(description)
    workflows = {_workflow(each): each for each in description.experiments}
    for file in files:
        yield _file(file, workflows.get(_id(file.name)))
    for each in description.experiments:
        yield _run(each, files)


def _profiles() -> Iterator[Entity]:
    for address, name, version in _PROFILES:
        yield {"@id": address, "@type": ["CreativeWork", "Profile"], "name": name, "version": version}


def _licence(description: Description) -> str:
    return f"https://spdx.org/licenses/{description.licence}" if description.licence else LICENCE


def _licences(description: Description) -> Iterator[Entity]:
    if description.licence:
        yield {
            "@id": _licence(description),
            "@type": "CreativeWork",
            "name": description.licence,
            "description": f"The licence with the SPDX identifier {description.licence}",
        }


def _tools(description: Description) -> Iterator[Entity]:
    versions = ", ".join(sorted({each.version for each in description.experiments}))
    yield {
        "@id": _LANGUAGE,
        "@type": "ComputerLanguage",
        "name": "Trialwise experiment file",
        "description": "A plan of trials in TOML",
        "url": _URL,
        "version": versions,
    }
    yield {
        "@id": _ENGINE,
        "@type": "SoftwareApplication",
        "name": "Trialwise",
        "url": _URL,
        "version": versions,
    }


def _file(file: PackedFile, experiment: PackedExperiment | None) -> Entity:
    ending = file.name[file.name.rfind(".") :] if "." in file.name else ""
    entity: Entity = {
        "@id": _id(file.name),
        "@type": "File",
        "name": file.name,
        "contentSize": str(file.size),
        "sha256": file.sha256,
        "encodingFormat": _FORMATS.get(ending, "application/octet-stream"),
    }
    if experiment is None:
        return entity
    more: Entity = {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": experiment.name,
        "description": experiment.about,
        "programmingLanguage": {"@id": _LANGUAGE},
    }
    return entity | more


def _run(experiment: PackedExperiment, files: Sequence[PackedFile]) -> Entity:
    below = f"{experiment.folder}/"
    results = [file.name for file in files if file.name.startswith(below)]
    return {
        "@id": _action(experiment),
        "@type": "CreateAction",
        "name": f"{experiment.trials} trials of {experiment.name}",
        "description": f"Trials of {experiment.treatments} treatments, each a row of the ledger: {experiment.command}",
        "instrument": {"@id": _workflow(experiment)},
        "startTime": iso_time(experiment.begun),
        "endTime": iso_time(experiment.ended),
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
        "agent": {"@id": _ENGINE},
        "object": [{"@id": _id(name)} for name in experiment.programs],
        "result": [{"@id": _id(name)} for name in results if name != f"{below}experiment.toml"],
    }


def _workflow(experiment: PackedExperiment) -> str:
    return _id(f"{experiment.folder}/experiment.toml")


def _action(experiment: PackedExperiment) -> str:
    return f"#run-{quote(experiment.folder)}"


def _id(name: str) -> str:
    return quote(name)
