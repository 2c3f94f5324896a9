"""Reading an experiment file: text, then a table, then a checked document, then the model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from trialwise.errors import PlanError
from trialwise.experiment import model
from trialwise.experiment.building import build
from trialwise.experiment.file.checking import checked
from trialwise.experiment.file.document import Document
from trialwise.experiment.file.positions import key_lines
from trialwise.experiment.file.sections import keys_of
from trialwise.experiment.problems import Problems
from trialwise.experiment.text import MAX_FILE, read_text
from trialwise.kinds import kinds, part

__all__ = ["MAX_FILE", "parse_experiment", "read_experiment", "read_text"]

_PLACE = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)
_OUR_WORDS = (
    (r"Cannot overwrite a value", "this key stands twice, or is a value and a table at once"),
    (r"Duplicate inline table key '(.*)'", r"the key \1 stands twice in this table"),
    (r"Cannot (?:mutate|redefine) .*|Cannot declare .*", "this table stands there already"),
    (r"Expected '=' after a key in a key/value pair", "a sign = is missing after the key"),
    (r"Expected newline or end of document after a statement", "something is left over at the end of the line"),
    (r"Invalid value", 'not a value: a text needs quotes, as in "text"; yes and no are true and false'),
    (r"Invalid initial character for a key part", "not a key: letters, digits, _ and -, or anything in quotes"),
    (r"Unclosed (array|inline table)", r"the \1 is not closed"),
    (r"Unterminated string", "the text is not closed: a quotation mark is missing"),
    (r"Illegal character '\\\\n'", "the text is not closed on this line: a quotation mark is missing"),
    (r"Illegal character '(.*)'", r"the character \1 may not stand here"),
    (r"Invalid date or datetime", "there is no such date or time"),
)  # fmt: skip


def read_experiment(path: Path) -> model.Experiment:
    """Read the experiment file at `path`.

    Raises
    ------
    PlanError
        The file cannot be read or is invalid. The message gives file, line and key, what is wrong, and the nearest known key or the
        allowed values, for every problem, not only the first.
    """
    return parse_experiment(read_text(path), path)


def parse_experiment(text: str, path: Path, *, frozen: bool = False) -> model.Experiment:
    """Check the text of an experiment file; `path` is its location, for messages and relative paths.

    A `frozen` file is in an experiment directory, which may come from someone else: the files that it draws from are read only from
    their copies there.

    Raises
    ------
    PlanError
        As for `read_experiment`.
    """
    within = path.parent if frozen else None
    table = toml_table(text, path)
    problems = Problems(path, key_lines(text), frozen=within is not None)
    _import_kind(table)
    _check_metrics(table, problems)
    document = checked(table, problems)
    experiment = None if document is None else build(document, path, problems, within)
    problems.raise_any()
    if experiment is None:
        raise AssertionError("a document was refused without a reason")
    return experiment


def _check_metrics(table: Mapping[str, Any], problems: Problems) -> None:
    """Note that nothing is measured: the file has no metric, and no harness whose metrics are found."""
    if table.get("metrics", {}) == {} and "results" not in table:
        problems.add(("metrics",), "missing", keys_of(Document)["metrics"].key.missing)


def _import_kind(table: Mapping[str, Any]) -> None:
    """Raise PlanError if the kind of the trial comes from a package that cannot be imported."""
    trial: object = table.get("trial")
    kind = cast("dict[str, object]", trial).get("kind") if isinstance(trial, dict) else None
    if isinstance(kind, str) and kind in kinds():
        part(kinds()[kind])


def toml_table(text: str, path: Path) -> dict[str, Any]:
    """Return the table of a TOML text; `path` is its location, for messages.

    Raises
    ------
    PlanError
        It is not TOML; the message says where and why.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(str(error), text, path) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise PlanError(f"{path}: a number is too long to be read") from error
    except RecursionError as error:
        raise PlanError(f"{path}: {_DEEP}") from error
    if _depth(table) > _MAX_DEPTH:
        raise PlanError(f"{path}: {_DEEP}")
    return table


_MAX_DEPTH = 64
_DEEP = "lists or tables are nested too deeply"


def _depth(table: dict[str, Any]) -> int:
    """Return how deeply lists and tables are nested, without a limit of its own."""
    depth = 0
    level: list[Any] = [table]
    while level:
        depth += 1
        level = [
            inner
            for each in level
            for inner in cast("Iterable[Any]", each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
    return depth


def _not_toml(message: str, text: str, path: Path) -> PlanError:
    found = _PLACE.match(message)
    reason = found.group(1) if found else message
    line = int(found.group(2)) if found and found.group(2) else text.rstrip().count("\n") + 1
    said = reason[:1].lower() + reason[1:]
    for pattern, ours in _OUR_WORDS:
        if re.fullmatch(pattern, reason):
            said = re.sub(pattern, ours, reason)
            break
    column = f", column {found.group(3)}" if found and found.group(3) else ""
    return PlanError(f"{path}:{line}: not TOML{column}: {said}", hint="see https://toml.io for the syntax")
