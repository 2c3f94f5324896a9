"""Spelling of identifiers and literals in the languages of skeletons."""

from __future__ import annotations

import json

from trialwise.measurement.scaffold.description import MeasurementPoint

_C_WORDS = (
    "alignas alignof asm auto bool break case catch char class const constexpr continue default delete do double else "
    "enum explicit export extern false float for friend goto if inline int long mutable namespace new nullptr operator "
    "private protected public register restrict return short signed sizeof static struct switch template this throw true "
    "try typedef typeid typename typeof union unsigned using virtual void volatile while main NULL v mp point"
)
C_KEYWORDS = frozenset(_C_WORDS.split())
_RUST_WORDS = (
    "as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl in let "
    "loop macro match mod move mut override priv pub ref return self Self static struct super trait true try type typeof "
    "unsafe unsized use virtual where while yield abstract"
)
RUST_KEYWORDS = frozenset(_RUST_WORDS.split())


def identifier(name: str, keywords: frozenset[str]) -> str:
    """Return the name, with a _ after it if it is a keyword of the language."""
    return f"{name}_" if name in keywords or name == "_" else name


def identifiers(point: MeasurementPoint, keywords: frozenset[str]) -> list[str]:
    """Return parameter names for a point's fields, all different."""
    made: list[str] = []
    for field in point.fields:
        name = identifier(field.name, keywords)
        while name in made:
            name += "_"
        made.append(name)
    return made


def camel(name: str) -> str:
    """Return the name of a type: `seq_no` becomes `SeqNo`."""
    joined = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return joined if joined[:1].isalpha() else f"Point{joined}"


def quoted(text: str) -> str:
    """Return a one-line string literal; for text in descriptions it is the same in C, Rust and Python."""
    return json.dumps("".join(character for character in text if character.isprintable()), ensure_ascii=False)


def docstring(text: str) -> str:
    """Return text as a Python docstring, including its quotes."""
    inside = " ".join(text.split()).replace(chr(92), "/").replace(chr(34), chr(39))
    inside = " ".join(text.split()).replace(chr(92), "/").replace(chr(34), chr(39))
    return f'"""{inside}"""'


def comment(text: str) -> str:
    """Return text that cannot end a C comment."""
    return " ".join(text.split()).replace("*/", "* /")
