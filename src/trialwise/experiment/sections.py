"""Records that are sections of the experiment file: one field of a record is one key, with its type, its default and its words.

Annotations say how a value stands in the file. pydantic reads, checks and describes by them; it is imported where a file is read or
written, and the records themselves are plain dataclasses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, get_type_hints

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


class Section:
    """Base of the records that are tables of the file: unknown keys are errors, and no value is taken for another."""

    __slots__ = ()
    __pydantic_config__: ClassVar[Mapping[str, object]] = {
        "extra": "forbid",
        "strict": True,
        "allow_inf_nan": False,
    }

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let a table stand for the record, which a strict dataclass refuses."""
        schema = handler(source)
        inner: Any = schema
        while inner["type"] != "dataclass":
            inner = inner["schema"]
        inner["strict"] = False
        return schema

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Say what it is, and defaults as they stand in the file, none where a key's default is derived."""
        found = handler(schema)
        table = handler.resolve_ref_schema(found)
        table["description"] = (cls.__doc__ or "").split("\n", 1)[0]
        properties = table["properties"]
        hints = get_type_hints(cls, include_extras=True)
        for field in dataclasses.fields(cls):  # pyright: ignore[reportArgumentType]
            for mark in getattr(hints[field.name], "__metadata__", ()):
                if isinstance(mark, Key) and mark.derived:
                    properties[field.name]["default"] = None
                if isinstance(mark, Written) and field.default is not dataclasses.MISSING:
                    properties[field.name]["default"] = mark.write(field.default)
        return found


class WrongValueError(ValueError):
    """What is wrong with a value, in whole words; `hint` says what would put it right."""

    def __init__(self, text: str, hint: str | None = None) -> None:
        super().__init__(text)
        self.hint = hint


class Key:
    """What a key means, with examples: for the reference and for editors.

    The default of one that is `derived` depends on the rest of the file; the words say how.
    """

    __slots__ = ("derived", "examples", "words")

    def __init__(self, words: str, *examples: object, derived: bool = False) -> None:
        self.words = words
        self.examples = examples
        self.derived = derived

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the words to what the type says."""
        more: JsonSchemaValue = {"examples": list(self.examples)} if self.examples else {}
        return handler(schema) | {"description": self.words} | more


class Limits:
    """What bounds a number, a text or a list, in pydantic's words: `ge`, `lt`, `min_length`, `pattern` and so on."""

    __slots__ = ("limits",)

    def __init__(self, **limits: object) -> None:
        self.limits = limits

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Add the limits to what the type checks."""
        return handler(source) | self.limits  # pyright: ignore[reportReturnType, reportOperatorIssue, reportUnknownVariableType]


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A value that stands in the file in another shape.

    Parameters
    ----------
    shape
        The type that the file has; pydantic checks it and says where it is wrong.
    read
        Makes the value of what was read; ValueError says what is wrong with it.
    write
        Makes what is written of the value.
    """

    shape: Any
    read: Callable[[Any], object]
    write: Callable[[Any], Any] = lambda value: value

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            self.read,
            handler.generate_schema(self.shape),
            serialization=core_schema.plain_serializer_function_ser_schema(self.write),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Parsed:
    """A value that a function of ours reads from whatever stands there; `schema` is what an editor is told."""

    read: Callable[[object], object]
    schema: Mapping[str, object]
    write: Callable[[Any], Any] = lambda value: value

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            self.read, serialization=core_schema.plain_serializer_function_ser_schema(self.write)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return dict(self.schema)


@dataclass(frozen=True, slots=True, eq=False)
class ByShape:
    """A value, a list or a table, so that what is wrong is told for the one that stands there alone."""

    value: Any = None
    items: Any = None
    table: Any = None

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        shapes = {"<value>": self.value, "<list>": self.items, "<table>": self.table}
        choices = {
            name: handler.generate_schema(shape) for name, shape in shapes.items() if shape is not None
        }
        return core_schema.tagged_union_schema(choices, _shape)


def _shape(value: object) -> str:
    if isinstance(value, Mapping) or dataclasses.is_dataclass(value):
        return "<table>"
    return "<list>" if isinstance(value, list | tuple) else "<value>"


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401 any annotation
    """What reads, writes and describes values of a type."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def table_of(record: Section, **defaults: object) -> dict[str, Any]:
    """A record as its table: keys in their order, without those at their defaults; `defaults` holds those that are not constant."""
    written = adapter(type(record)).dump_python(record, by_alias=True)
    constant = {field.name: field.default for field in dataclasses.fields(record)} | defaults  # pyright: ignore[reportArgumentType]
    return {
        name: written[name]
        for name, default in constant.items()
        if name in written and written[name] is not None and getattr(record, name) != default
    }
