"""Checking documents of other tools against the forms that their readers expect."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from trialwise.errors import AnalysisError

_Form = TypeVar("_Form", bound=BaseModel)


def valid(form: type[_Form], path: Path, document: object, tool: str) -> _Form:
    """Return the document of a tool in its form.

    Raises
    ------
    AnalysisError
        Something of it has another form; the message says where.
    """
    try:
        return form.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise AnalysisError(
            f"{path}: looks like {tool}'s, but {where}: {first['msg']}", hint=f"write it again with {tool}"
        ) from error
