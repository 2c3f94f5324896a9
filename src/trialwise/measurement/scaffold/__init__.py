"""Generate a program's skeleton, with typed inject functions, from a short description of measurement points.

`read_description` reads a description, TOML or OML's Ruby; `skeleton` makes the files for one language from it.
"""

from __future__ import annotations

from pathlib import Path

from trialwise.errors import PlanError
from trialwise.measurement.scaffold.c_skeleton import c_options_header, c_skeleton
from trialwise.measurement.scaffold.description import Program
from trialwise.measurement.scaffold.python_skeleton import python_skeleton
from trialwise.measurement.scaffold.ruby_description import parse_ruby
from trialwise.measurement.scaffold.rust_skeleton import rust_skeleton
from trialwise.measurement.scaffold.toml_description import parse_toml

_LANGUAGES = {"c": c_skeleton, "rust": rust_skeleton, "python": python_skeleton}


def read_description(text: str, name: str) -> Program:
    """Parse a description; `name` is the file's, which ends in .rb or .app for OML's Ruby.

    Raises
    ------
    PlanError
        The text is not a description, or uses a name that is not allowed.
    """
    try:
        return parse_ruby(text) if Path(name).suffix in {".rb", ".app"} else parse_toml(text)
    except PlanError as error:
        raise PlanError(f"{name}: {error.message}", hint=error.hint) from error


def skeleton(program: Program, language: str) -> dict[str, str]:
    """Return the files of a skeleton in `language` (c, rust or python): text by path."""
    return _LANGUAGES[language](program)


__all__ = ["Program", "c_options_header", "read_description", "skeleton"]
