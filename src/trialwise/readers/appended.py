"""Files to which a tool appended result after result: each is read by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from trialwise.readers.content import Content


def documents_apart(content: Content) -> Sequence[Content]:
    """Return a content for each JSON document of a format that has one a file."""
    documents = content.documents.whole
    return [content] if len(documents) < 2 else [content.holding(document) for document in documents]


def apart_at(begin: re.Pattern[str] | str) -> Callable[[Content], Sequence[Content]]:
    """Return the function that divides text where a result begins: at what a pattern finds, or at lines that begin with a text.

    What precedes the first result belongs to it.
    """

    def apart(content: Content) -> Sequence[Content]:
        text = content.text
        if isinstance(begin, str):
            return divided(content, _begins_of_lines(text, begin))
        return divided(content, [found.start() for found in begin.finditer(text)])

    return apart


def _begins_of_lines(text: str, begin: str) -> list[int]:
    """Return the places of lines that begin with a text; a search for it is ten times as fast as a pattern of lines."""
    places = [0] if text.startswith(begin) else []
    place = text.find(f"\n{begin}")
    while place >= 0:
        places.append(place + 1)
        place = text.find(f"\n{begin}", place + 1)
    return places


def divided(content: Content, begins: Sequence[int]) -> Sequence[Content]:
    """Return a content for each result of a text; `begins` are the places of their first characters."""
    if len(begins) < 2:
        return [content]
    bounds = [0, *begins[1:], len(content.text)]
    return [
        Content(content.path, content.text[begin:end].encode(errors="surrogatepass"))
        for begin, end in pairwise(bounds)
    ]
