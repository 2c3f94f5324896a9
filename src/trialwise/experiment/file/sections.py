"""Records that are sections of the experiment file: one field of a record is one key, with its type, its default and its words.

Annotations say how a value stands in the file. pydantic reads, checks and describes by them; it is imported where a file is read or
written, and the records themselves are plain dataclasses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, get_type_hints

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


RECORDS: dict[str, type[Section]] = {}
"""The records of the file by their names."""


class Section:
    """Base of the records that are tables of the file: unknown keys are errors, and no value is taken for another.

    A field that is no key of the file is not set in what is read: `made_of` makes a whole record of that.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        RECORDS[cls.__name__] = cls

    own_keys_first: ClassVar[bool] = False
    """Whether the keys of the class stand before those of the record that it extends."""
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """What is said of keys that others of its kind have, where that is not enough."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let a table stand for the record, which a strict dataclass refuses; what is no key of the file is left out."""
        from pydantic_core import core_schema

        schema = handler(source)
        if not _of_file.get():
            return schema
        inner: Any = schema
        while inner["type"] != "dataclass":
            inner = inner["schema"]
        inner["strict"] = False
        inner["config"] = {"extra_fields_behavior": "forbid", "strict": True, "allow_inf_nan": False}
        keys = keys_of(cls)
        fields = {field["name"]: field for field in inner["schema"]["fields"]}
        inner["schema"]["fields"] = [
            fields[name] | key.in_schema(fields[name]["schema"]) for name, key in keys.items()
        ]
        inner["fields"] = list(keys)
        inner["serialization"] = core_schema.plain_serializer_function_ser_schema(
            partial(table_of, whole=True)
        )
        return schema

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Say what it is, and defaults as they stand in the file, none where a key's default is derived."""
        found = handler(schema)
        if not _of_file.get():
            return found
        table = handler.resolve_ref_schema(found)
        table["additionalProperties"] = False
        table["description"] = (cls.__doc__ or "").split("\n", 1)[0]
        for field in keys_of(cls).values():
            told = {
                "description": field.key.words,
                "examples": list(field.key.examples),
                "title": field.key.title,
            }
            table["properties"][field.name] |= {name: value for name, value in told.items() if value}
            if field.key.derived:
                table["properties"][field.name]["default"] = None
            elif field.default is not dataclasses.MISSING:
                table["properties"][field.name]["default"] = field.write(field.default)
        return found


_of_file: ContextVar[bool] = ContextVar("of_file", default=False)
"""Records stand in documents of ours too; there they are the plain dataclasses that they are."""


Made = TypeVar("Made", bound="Section")


class Mark:
    """What an annotation says of how a value stands in the file; elsewhere it says nothing."""

    __slots__ = ()

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check as the file has it."""
        return self.checked(source, handler) if _of_file.get() else handler(source)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe it as the file has it."""
        return self.described(schema, handler) if _of_file.get() else handler(schema)

    def checked(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """What checks a value of the file."""
        return handler(source)

    def described(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """What an editor is told of it."""
        return handler(schema)


class WrongValueError(ValueError):
    """What is wrong with a value, in whole words; `hint` says what would put it right."""

    def __init__(self, text: str, hint: str | None = None) -> None:
        super().__init__(text)
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What is said of a key, and how the file differs from the record.

    Attributes
    ----------
    words, examples
        What it means, for the reference and for editors.
    derived
        The default depends on the rest of the file; the words say how.
    name
        The key, where it is not that of the field.
    kinds
        The kinds of trials that it goes with, where these are not all.
    missing
        What to do where it is not given and has to be.
    stand_in
        What stands for it then, so that the rest of the file can be checked.
    required
        The file has to have it, though the record has a default.
    default
        A default that only the file has; `...` for none.
    first
        It stands before the others of its table, since these depend on it.
    filled
        Placeholders in its texts are filled for each trial.
    title
        What may stand there, in words; empty where the type says it.
    """

    words: str = ""
    examples: tuple[object, ...] = ()
    derived: bool = False
    name: str | None = None
    kinds: tuple[str, ...] = ()
    missing: str | None = None
    stand_in: object = None
    required: bool = False
    default: object = ...
    first: bool = False
    filled: bool = False
    title: str = ""


def key(default: object, words: str | Key = "", /, *examples: object, **more: Any) -> Any:  # noqa: ANN401 the type is that of the field
    """A field that is a key of the file, by its default (`...` for none, or `factory`), what it means, examples, and more of `Key`."""
    factory = more.pop("factory", None)
    mark = (
        Key(words=words, examples=examples, **more)
        if isinstance(words, str)
        else dataclasses.replace(words, **more)
    )
    if factory is not None:
        return dataclasses.field(default_factory=factory, metadata={"key": mark})
    return dataclasses.field(
        default=dataclasses.MISSING if default is ... else default, metadata={"key": mark}
    )


class Limits(Mark):
    """What bounds a value, in pydantic's words (`ge`, `min_length`, `pattern` …), and what is `said` of it in a schema."""

    __slots__ = ("limits", "said")

    def __init__(self, said: Mapping[str, object] | None = None, /, **limits: object) -> None:
        self.said = said or {}
        self.limits = limits

    def checked(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Add the limits to what the type checks."""
        return cast("CoreSchema", {**handler(source), **self.limits})

    def described(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add what is said."""
        return handler(schema) | dict(self.said)


@dataclass(frozen=True, slots=True, eq=False)
class Written(Mark):
    """A value that stands in the file in another shape.

    Parameters
    ----------
    shape
        The type that the file has; pydantic checks it and says where it is wrong. `Any` leaves that to `read`.
    read
        Makes the value of what was read; ValueError says what is wrong with it.
    write
        Makes what is written of the value.
    """

    shape: Any
    read: Callable[[Any], object]
    write: Callable[[Any], Any] = lambda value: value

    def checked(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ARG002
        """Check it by its shape, then read it."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            self.read,
            handler.generate_schema(self.shape),
            serialization=core_schema.plain_serializer_function_ser_schema(self.write),
        )


class ByShape(Mark):
    """A `value`, a list of `items` or a `table`, so that what is wrong is told for the one that stands there alone."""

    __slots__ = ("shapes",)

    def __init__(self, **shapes: object) -> None:
        self.shapes = shapes

    def checked(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ARG002
        """Check by the shape of what stands there."""
        from pydantic_core import core_schema

        choices = {f"<{name}>": handler.generate_schema(shape) for name, shape in self.shapes.items()}
        return core_schema.tagged_union_schema(choices, _shape)


class ByTag(Mark):
    """One of several records, by a key with a fixed value in each: the first where the key is left out and may be."""

    __slots__ = ("records", "tag")

    def __init__(self, tag: str, *records: type[Section]) -> None:
        self.tag = tag
        self.records = records

    def checked(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ARG002
        """Check by the record that the tag names."""
        from pydantic_core import core_schema

        unless = keys_of(self.records[0])[self.tag].default

        def tag_of(value: object) -> str:
            if isinstance(value, Mapping):
                tag = cast("Mapping[str, object]", value).get(self.tag, unless)
            else:
                tag = getattr(value, self.tag, None)
            return f"<{tag}>" if isinstance(tag, str) else "<>"

        choices = {f"<{self._value(record)}>": handler.generate_schema(record) for record in self.records}
        return core_schema.tagged_union_schema(
            choices,
            tag_of,
            custom_error_type="wrong_tag",
            custom_error_message="none of these",
            custom_error_context={"tag": self.tag},
        )

    def described(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Say what there is."""
        values = " / ".join(f'"{self._value(record)}"' for record in self.records)
        return handler(schema) | {"title": f"a table with {self.tag} = {values}"}

    def _value(self, record: type[Section]) -> str:
        defaults = {field.name: field.default for field in dataclasses.fields(record)}  # pyright: ignore[reportArgumentType]
        return str(defaults[self.tag])


def _shape(value: object) -> str:
    if isinstance(value, Mapping) or dataclasses.is_dataclass(value):
        return "<table>"
    return "<items>" if isinstance(value, list | tuple) else "<value>"


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field of a record that is a key of the file."""

    name: str
    key: Key
    default: object
    hint: Any

    def in_schema(self, schema: CoreSchema) -> dict[str, Any]:
        """What is said of the field otherwise than of that of the plain record."""
        from pydantic_core import core_schema

        if self.key.required and schema["type"] == "default":
            schema = schema["schema"]
        if self.key.default is not ...:
            schema = core_schema.with_default_schema(schema, default=self.key.default)
        return {"validation_alias": self.name, "schema": schema}

    def write(self, value: object) -> Any:  # noqa: ANN401 whatever TOML has
        """The value as the file has it."""
        return adapter(self.hint).dump_python(value)


@cache
def keys_of(record: type[Section]) -> Mapping[str, Field]:
    """The fields of a record that are keys of the file, each by its name in the record."""
    hints = get_type_hints(record, include_extras=True)
    found: dict[str, Field] = {}
    for field in dataclasses.fields(record):  # pyright: ignore[reportArgumentType]
        if mark := field.metadata.get("key"):
            default = field.default if mark.default is ... else mark.default
            default = dataclasses.MISSING if mark.required else default
            found[field.name] = Field(mark.name or field.name, mark, default, hints[field.name])
    own = record.__annotations__ if record.own_keys_first else ()
    return dict(sorted(found.items(), key=lambda item: not (item[1].key.first or item[0] in own)))


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401 any annotation
    """What reads, writes and describes values of a type."""
    from pydantic import TypeAdapter

    with _as_file():
        return TypeAdapter(kind)


def schema_of(kind: Any) -> dict[str, Any]:  # noqa: ANN401 any annotation
    """The JSON Schema of a type, as the file has it."""
    found = adapter(kind)
    with _as_file():
        return found.json_schema(by_alias=True)


def for_editors(kind: type[Section], name: str) -> dict[str, Any]:
    """The same as a schema by itself, of the format of that name."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | schema_of(kind) | {"title": f"trialwise {name}"}


@contextmanager
def _as_file() -> Generator[None]:
    token = _of_file.set(True)
    try:
        yield
    finally:
        _of_file.reset(token)


def made_of(kind: type[Made], table: Section, **more: object) -> Made:
    """The plain record of a table that has further keys; `more` is what the table does not say, or says otherwise."""
    return kind(**({name: getattr(table, name) for name in keys_of(kind)} | more))


def table_of(record: Section, *, whole: bool = False, **defaults: object) -> dict[str, Any]:
    """A record as its table: keys in their order, without those at their defaults unless the `whole` is wanted.

    `defaults` holds those that are not constant.
    """
    found: dict[str, Any] = {}
    for name, field in keys_of(type(record)).items():
        value = getattr(record, name)
        if value is not None and (whole or value != defaults.get(name, field.default)):
            found[field.name] = field.write(value)
    return found
