"""How an artifact is cited: CITATION.cff (version 1.2) and .zenodo.json, both from its description.

https://github.com/citation-file-format/citation-file-format, https://developers.zenodo.org (deposit metadata)
"""

from __future__ import annotations

import json

from trialwise.exchange.artifact.description import Author, Description
from trialwise.exchange.plain import Json

CITATION, ZENODO = "CITATION.cff", ".zenodo.json"
_MESSAGE = "If you use these data, please cite them."


def citation_text(description: Description) -> bytes:
    """Return CITATION.cff: YAML, of which JSON values are a part."""
    fields: dict[str, Json] = {
        "cff-version": "1.2.0",
        "message": _MESSAGE,
        "type": "dataset",
        "title": description.title,
        "abstract": description.about,
        "authors": [_person(author) for author in description.authors] or [{"name": "The authors"}],
        "date-released": description.date,
    }
    if description.licence:
        fields["license"] = description.licence
    if description.doi:
        fields["doi"] = description.doi
    lines = (f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())
    return "".join(lines).encode()


def _person(author: Author) -> dict[str, Json]:
    person: dict[str, Json] = {"family-names": author.family}
    if author.given:
        person["given-names"] = author.given
    if author.orcid:
        person["orcid"] = f"https://orcid.org/{author.orcid}"
    return person


def zenodo_text(description: Description) -> bytes:
    """Return .zenodo.json, which Zenodo prefers to CITATION.cff."""
    creators: list[Json] = [
        {
            "name": f"{author.family}, {author.given}" if author.given else author.family,
            **({"orcid": author.orcid} if author.orcid else {}),
        }
        for author in description.authors
    ]
    document: dict[str, Json] = {
        "title": description.title,
        "upload_type": "dataset",
        "description": description.about,
        "creators": creators or [{"name": "The authors"}],
        "access_right": "open",
        "keywords": ["performance experiment", "artifact", "Trialwise"],
    }
    if description.licence:
        document["license"] = description.licence
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
