"""Records for sections of the experiment file: each field is one key, with its type, default and description.

Annotations define how a value is written in the file. pydantic uses them to read, check and describe values; it is imported only
when a file is read or written, and the records are plain dataclasses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Mapping, Sequence
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
"""The records of the file by name."""


class Section:
    """Base of the records that are tables of the file: unknown keys are errors, and values are not coerced.

    A field that is not a key of the file is unset after reading; `made_of` completes the record.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        known = RECORDS.get(cls.__name__, cls).__module__
        if known.startswith("trialwise.") and known != cls.__module__:
            raise TypeError(f"{known} has a record called {cls.__name__} already")
        RECORDS[cls.__name__] = cls

    own_keys_first: ClassVar[bool] = False
    """True if the keys of the class precede those of the record that it extends."""
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Extra messages on keys that other records of the kind have."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept a table for the record, which a strict dataclass would refuse; fields that are not keys of the file are skipped."""
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
        """Describe the record, with defaults as written in the file, but without derived ones."""
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
"""True while reading a file; in our own documents, records are plain dataclasses."""


Made = TypeVar("Made", bound="Section")


class Mark:
    """An annotation on how a value is written in the file; it has no effect elsewhere."""

    __slots__ = ()

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check the value as written in the file."""
        return self.checked(source, handler) if _of_file.get() else handler(source)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the value as written in the file."""
        return self.described(schema, handler) if _of_file.get() else handler(schema)

    def checked(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the check for a value of the file."""
        return handler(source)

    def described(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the description of the value for editors."""
        return handler(schema)


class WrongValueError(ValueError):
    """What is wrong with a value, as a full sentence; `hint` gives the remedy."""

    def __init__(self, text: str, hint: str | None = None) -> None:
        super().__init__(text)
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The description of a key, and how the file differs from the record.

    Attributes
    ----------
    words, examples
        Its meaning, for the reference and for editors.
    derived
        The default depends on the rest of the file; `words` says how.
    name
        The key, if it differs from the field.
    kinds
        The kinds of trials that it is valid for, if not all.
    missing
        What to do if it is required and missing.
    stand_in
        A substitute in that case, so that the rest of the file can be checked.
    required
        True if the file must have it although the record has a default.
    default
        A default of the file only; `...` for none.
    first
        True if it precedes the others of its table because they depend on it.
    filled
        True if placeholders in its texts are filled for each trial.
    title
        Allowed values in words; empty if the type says it.
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
    """Declare a field as a key of the file: its default (`...` for none, or `factory`), meaning, examples, and more of `Key`."""
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
    """Limits of a value, in pydantic's terms (`ge`, `min_length`, `pattern` …), and the text `said` in a schema."""

    __slots__ = ("limits", "said")

    def __init__(self, said: Mapping[str, object] | None = None, /, **limits: object) -> None:
        self.said = said or {}
        self.limits = limits

    def checked(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Add the limits to the check of the type."""
        return cast("CoreSchema", {**handler(source), **self.limits})

    def described(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the text to the description."""
        return handler(schema) | dict(self.said)


@dataclass(frozen=True, slots=True, eq=False)
class Written(Mark):
    """A value that is written in the file in another form.

    Parameters
    ----------
    shape
        The type in the file; pydantic checks it and locates errors. `Any` leaves that to `read`.
    read
        Converts what was read to the value; ValueError says what is wrong.
    write
        Converts the value to what is written.
    """

    shape: Any
    read: Callable[[Any], object]
    write: Callable[[Any], Any] = lambda value: value

    def checked(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ARG002
        """Check the value by its shape, then convert it."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            self.read,
            handler.generate_schema(self.shape),
            serialization=core_schema.plain_serializer_function_ser_schema(self.write),
        )


class ByShape(Mark):
    """A `value`, a list of `items` or a `table`; errors refer only to the form that is present."""

    __slots__ = ("shapes",)

    def __init__(self, **shapes: object) -> None:
        self.shapes = shapes

    def checked(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ARG002
        """Check by the form that is present."""
        from pydantic_core import core_schema

        choices = {f"<{name}>": handler.generate_schema(shape) for name, shape in self.shapes.items()}
        return core_schema.tagged_union_schema(choices, _shape)


class ByTag(Mark):
    """One of several records, selected by a key with a fixed value in each; the first if the key is omitted and optional."""

    __slots__ = ("_known", "tag")

    def __init__(
        self, tag: str, *records: type[Section], known: Callable[[], Sequence[type[Section]]] | None = None
    ) -> None:
        self.tag = tag
        self._known = known or (lambda: records)

    @property
    def records(self) -> Sequence[type[Section]]:
        """The records; `known`, where given, is called when a file is read."""
        return self._known()

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
        """Describe the alternatives."""
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
        """Return the parts of the field's schema that differ from the plain record's."""
        from pydantic_core import core_schema

        if self.key.required and schema["type"] == "default":
            schema = schema["schema"]
        if self.key.default is not ...:
            schema = core_schema.with_default_schema(schema, default=self.key.default)
        return {"validation_alias": self.name, "schema": schema}

    def write(self, value: object) -> Any:  # noqa: ANN401 whatever TOML has
        """Return the value as written in the file."""
        return adapter(self.hint).dump_python(value)


@cache
def keys_of(record: type[Section]) -> Mapping[str, Field]:
    """Return the fields of a record that are keys of the file, by field name."""
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
    """Return the pydantic adapter that reads, writes and describes values of a type."""
    from pydantic import TypeAdapter

    with _as_file():
        return TypeAdapter(kind)


def schema_of(kind: Any) -> dict[str, Any]:  # noqa: ANN401 any annotation
    """Return the JSON Schema of a type as written in the file."""
    found = adapter(kind)
    with _as_file():
        return found.json_schema(by_alias=True)


def for_editors(kind: type[Section], name: str) -> dict[str, Any]:
    """Return the schema as a standalone document, of the format of that name."""
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
    """Complete the record of a table that has further keys; `more` gives what the table lacks, or overrides it."""
    return kind(**({name: getattr(table, name) for name in keys_of(kind)} | more))


def table_of(record: Section, *, whole: bool = False, **defaults: object) -> dict[str, Any]:
    """Return a record as its table: keys in order, without those at their defaults unless `whole`.

    `defaults` holds the derived ones.
    """
    found: dict[str, Any] = {}
    for name, field in keys_of(type(record)).items():
        value = getattr(record, name)
        if value is not None and (whole or value != defaults.get(name, field.default)):
            found[field.name] = field.write(value)
    return found
