"""What an RO-Crate must have by RO-Crate 1.3 and the profiles Process Run Crate and Workflow Run Crate, from their texts.

Recommendations are left out. The validators of others know more; this needs none of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

Entity = Mapping[str, object]
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?")
_ROOT = {"@id": "./"}
_RUNS = "https://w3id.org/ro/wfrun/process/", "https://w3id.org/ro/wfrun/workflow/"


def broken_rules(folder: Path) -> list[str]:
    """Return the rules that a crate in a folder breaks, each with what breaks it."""
    document = json.loads((folder / "ro-crate-metadata.json").read_text())
    graph: list[Entity] = document["@graph"]
    entities = {str(each["@id"]): each for each in graph}
    if document["@context"] != f"{_described(entities)}/context" or len(entities) != len(graph):
        return ["the context is not that of the version, or an entity is described twice"]
    return [*_root(entities), *_flattened(graph), *_files(entities, folder), *_runs(entities)]


def _described(entities: Mapping[str, Entity]) -> object:
    """The version that the metadata descriptor states (RO-Crate 1.3, Metadata of the RO-Crate)."""
    descriptor = entities["ro-crate-metadata.json"]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["about"] == _ROOT
    return _ids(descriptor, "conformsTo")[0]


def _root(entities: Mapping[str, Entity]) -> Iterator[str]:
    root = entities["./"]
    if root["@type"] != "Dataset":
        yield "the root is no Dataset"
    yield from (
        f"the root has no {name}" for name in ("name", "description", "license") if not root.get(name)
    )
    if not _DAY.fullmatch(str(root.get("datePublished"))):
        yield f"datePublished is {root.get('datePublished')}, which is no day"
    for name in ("license", "conformsTo", "mainEntity", "hasPart", "mentions"):
        yield from (
            f"{name} of the root is {each}, which is not described"
            for each in _ids(root, name)
            if each not in entities
        )


def _flattened(graph: list[Entity]) -> Iterator[str]:
    """Yield entities that hold others instead of naming them (JSON-LD 1.1, flattened and compacted)."""
    for entity in graph:
        for name, value in entity.items():
            values = value if isinstance(value, list) else [value]
            if any(isinstance(each, dict) and set(each) != {"@id"} for each in values):
                yield f"{entity['@id']} holds another entity in {name}"


def _files(entities: Mapping[str, Entity], folder: Path) -> Iterator[str]:
    parts = _ids(entities["./"], "hasPart")
    for name, entity in entities.items():
        if "File" not in _types(entity):
            continue
        if name not in parts:
            yield f"{name} is not among the parts of the root"
        content = (folder / unquote(name)).read_bytes()
        if (entity["contentSize"], entity["sha256"]) != (
            str(len(content)),
            hashlib.sha256(content).hexdigest(),
        ):
            yield f"{name} has another size or hash"


def _runs(entities: Mapping[str, Entity]) -> Iterator[str]:
    """Yield what the run profiles miss: named versions, a workflow with its language, and actions that the root mentions."""
    root = entities["./"]
    profiles = _ids(root, "conformsTo")
    for begin in _RUNS:
        named = [
            each
            for each in profiles
            if each.startswith(begin) and re.fullmatch(r"\d+\.\d+", each.removeprefix(begin))
        ]
        if len(named) != 1:
            yield f"the root names no version of {begin}"
    (main,) = _ids(root, "mainEntity")
    if not {"File", "SoftwareSourceCode", "ComputationalWorkflow"} <= _types(entities[main]):
        yield f"{main} is no workflow"
    languages = [entities[each] for each in _ids(entities[main], "programmingLanguage")]
    if not [each for each in languages if "ComputerLanguage" in _types(each)]:
        yield f"{main} is in no language"
    actions = {name: each for name, each in entities.items() if "CreateAction" in _types(each)}
    if main not in [each for action in actions.values() for each in _ids(action, "instrument")]:
        yield f"no action ran {main}"
    for name, action in actions.items():
        if name not in _ids(root, "mentions"):
            yield f"the root does not mention {name}"
        tools = [entities[each] for each in _ids(action, "instrument")]
        if not tools or not all(
            {"SoftwareSourceCode", "SoftwareApplication", "ComputationalWorkflow"} & _types(each)
            for each in tools
        ):
            yield f"{name} ran nothing"
        yield from (
            f"{name} names {each}, which is not described"
            for part in ("object", "result", "agent")
            for each in _ids(action, part)
            if each not in entities
        )


def _types(entity: Entity) -> set[str]:
    found = entity["@type"]
    return set(found) if isinstance(found, list) else {str(found)}


def _ids(entity: Entity, name: str) -> list[str]:
    found = entity.get(name, [])
    return [each["@id"] for each in (found if isinstance(found, list) else [found])]
