"""Checking documents of other tools against the forms that their readers expect."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from trialwise.errors import AnalysisError
from trialwise.readers.json_documents import TWICE, Repeated
from trialwise.readers.long_lists import LongList, Numbers


def _kept(numbers: Numbers) -> array[float]:
    kept = array("d")
    kept.frombytes(numbers.values.view(np.uint8).data)
    return kept


def _floats(told: Any, check: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401  any JSON
    if isinstance(told, LongList) and (found := told.numbers) is not None and not found.nulls:
        return _kept(found)
    return check(told)


def _maybe_wholes(told: Any, check: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401  any JSON
    if isinstance(told, LongList) and (found := told.numbers) is not None and found.are_whole:
        return _kept(found)
    return check(told)


Floats = Annotated[list[float], WrapValidator(_floats)]
"""Numbers: an array instead if they are a long list."""
MaybeWholes = Annotated[list[int | None], WrapValidator(_maybe_wholes)]
"""Whole numbers and null: an array instead if they are a long list, with NaN for null."""
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
        what = f"{where} {TWICE}" if isinstance(first["input"], Repeated) else f"{where}: {first['msg']}"
        raise AnalysisError(
            f"{path}: looks like {tool}'s, but {what}", hint=f"write it again with {tool}"
        ) from error
