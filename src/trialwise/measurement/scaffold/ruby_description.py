"""Parse OML's own descriptions of programs, in the subset of Ruby that they use (OML.md section 12).

The subset: `defApplication(URI, NAME) do |a| … end` with `version`, `shortDescription`, `description`, `defProperty` and
`defMeasurement`, and `defMetric` in that; literals (strings, symbols, numbers, characters, hashes), comments, calls with and
without parentheses, blocks in braces and with do. Text before and after it is ignored; nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from trialwise.errors import PlanError
from trialwise.measurement.scaffold.description import (
    Field,
    MeasurementPoint,
    Option,
    Program,
    checked,
    field_type,
    option,
)

_TOKENS = re.compile(
    r"""(?P<space>[ \t\r]+|\#[^\n]*|\\\n)
    |(?P<newline>\n|;)
    |(?P<percent>%[qQ]?(?P<open>[{(\[]))
    |(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<symbol>:(?:[A-Za-z_]\w*|'[^']*'|"[^"]*"))
    |(?P<char>\?[A-Za-z0-9])
    |(?P<key>[A-Za-z_]\w*:(?!:))
    |(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*[?!]?)
    |(?P<number>-?\d[\d_]*(?:\.\d+)?)
    |(?P<mark>=>|[(){}\[\],=|])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t"}
_CLOSING = {"{": "}", "(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


@dataclass(slots=True)
class _Call:
    """A call or an assignment: its last name, its arguments, and the calls of its block."""

    name: str
    line: int
    arguments: list[object] = field(default_factory=list[object])
    options: dict[str, object] = field(default_factory=dict[str, object])
    block: list[_Call] = field(default_factory=list["_Call"])


def parse_ruby(text: str) -> Program:
    """Parse a description.

    Raises
    ------
    PlanError
        There is no defApplication, or it contains something outside the subset.
    """
    start = re.search(r"^[ \t]*defApplication\b", text, re.MULTILINE)
    if start is None:
        raise PlanError("there is no defApplication")
    line = text.count("\n", 0, start.start()) + 1
    return _program(_Parser(_tokens(text[start.start() :], line)).call())


def _tokens(text: str, line: int) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        found = _TOKENS.match(text, place)
        if found is None:
            yield _Token("unknown", text[place], line)
            place, line = place + 1, line + (text[place] == "\n")
            continue
        kind, content, end = str(found.lastgroup), found[0], found.end()
        if found["percent"]:
            end = _end_of_percent(text, end, found["open"], line)
            kind, content = "text", text[found.end() : end - 1]
        if kind != "space":
            yield _Token(kind, content, line)
        line += text.count("\n", place, end)
        place = end
    yield _Token("end", "", line)


def _end_of_percent(text: str, place: int, opening: str, line: int) -> int:
    """Return the position after the bracket that closes a `%{…}`; brackets within it nest."""
    depth = 1
    for index in range(place, len(text)):
        depth += (text[index] == opening) - (text[index] == _CLOSING[opening])
        if depth == 0:
            return index + 1
    raise PlanError(f"line {line}: a %{opening} is not closed")


class _Parser:
    def __init__(self, tokens: Iterator[_Token]) -> None:
        self._tokens = tokens
        self._next = next(tokens)

    def call(self) -> _Call:
        """Parse a call `a.name(…) do |b| … end`, whose parts are optional, or an assignment."""
        token = self._take("name")
        call = _Call(token.text.rsplit(".", 1)[-1], token.line)
        if self._accept("="):
            call.arguments.append(self._value())
            return call
        if self._accept("("):
            self._arguments(call, ")")
        elif not self._at_block() and not self._ends():
            self._arguments(call, None)
        self._block(call)
        return call

    def _block(self, call: _Call) -> None:
        closing = "}" if self._accept("{") else "end" if self._accept("do") else None
        if closing is None:
            return
        if self._accept("|"):
            self._take("name")
            self._expect("|")
        while True:
            while self._next.kind == "newline":
                self._advance()
            if self._accept(closing):
                return
            call.block.append(self.call())

    def _arguments(self, call: _Call, closing: str | None) -> None:
        while closing is None or not self._accept_after_lines(closing):
            key = self._key()
            if key is None:
                value = self._value()
                key = self._text_of(value) if self._accept("=>") else None
                if key is None:
                    if isinstance(value, dict):
                        call.options.update(cast("dict[str, object]", value))
                    else:
                        call.arguments.append(value)
            if key is not None:
                call.options[key] = self._value()
            if not self._accept(",") and closing is None:
                return

    def _key(self) -> str | None:
        self._skip_lines()
        return self._advance().text[:-1] if self._next.kind == "key" else None

    def _value(self) -> object:
        self._skip_lines()
        token = self._advance()
        match token.kind, token.text:
            case "string" | "text" | "symbol" | "char" | "number", _:
                return _literal(token)
            case "name", "true" | "false" | "nil":
                return {"true": True, "false": False, "nil": None}[token.text]
            case "mark", "{":
                inner = _Call("", token.line)
                self._arguments(inner, "}")
                return inner.options
            case _:
                raise PlanError(
                    f"line {token.line}: {token.text or 'the end'!r} is not read here", hint="use literals"
                )

    def _text_of(self, value: object) -> str:
        if not isinstance(value, str):
            raise PlanError(f"line {self._next.line}: {value!r} is not a valid key")
        return value

    def _at_block(self) -> bool:
        return self._next.text in {"{", "do"}

    def _ends(self) -> bool:
        return self._next.kind in {"newline", "end"} or self._next.text in {"end", "}"}

    def _skip_lines(self) -> None:
        while self._next.kind == "newline":
            self._advance()

    def _accept_after_lines(self, text: str) -> bool:
        self._skip_lines()
        return self._accept(text)

    def _accept(self, text: str) -> bool:
        found = self._next.text == text and self._next.kind in {"mark", "name"}
        if found:
            self._advance()
        return found

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise PlanError(f"line {self._next.line}: {text!r} is missing before {self._next.text!r}")

    def _take(self, kind: str) -> _Token:
        if self._next.kind != kind:
            raise PlanError(f"line {self._next.line}: {self._next.text or 'the end'!r} is not read here")
        return self._advance()

    def _advance(self) -> _Token:
        token = self._next
        if token.kind != "end":
            self._next = next(self._tokens)
        return token


def _literal(token: _Token) -> str | int | float:
    text = token.text
    match token.kind:
        case "string":
            return re.sub(
                r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1], flags=re.DOTALL
            )
        case "symbol":
            return text[1:].strip("'\"")
        case "char":
            return text[1]
        case "number":
            return _number(text, token.line)
        case _:
            return text


_MAX_NUMBER = 100
"""Maximum characters of a number: no program takes longer ones, and Python parses at most 4300 digits."""


def _number(text: str, line: int | None = None) -> int | float:
    if len(text) > _MAX_NUMBER:
        where = "" if line is None else f"line {line}: "
        raise PlanError(f"{where}a number of {len(text)} characters; at most {_MAX_NUMBER} are read")
    return float(text) if "." in text else int(text.replace("_", ""))


def _program(application: _Call) -> Program:
    names = [str(argument) for argument in application.arguments]
    if not names:
        raise PlanError(f"line {application.line}: defApplication needs a name")
    said = {call.name: call for call in application.block}
    version = _version(said["version"]) if "version" in said else "0.1.0"
    about = next((said[name] for name in ("shortDescription", "description") if name in said), None)
    return checked(
        Program(
            names[1] if len(names) > 1 else names[0].rsplit(":", 1)[-1],
            tuple(_point(call) for call in application.block if call.name == "defMeasurement"),
            tuple(_option(call) for call in application.block if _is_option(call)),
            " ".join(str(_argument(about, 0)).split()) if about else "",
            version,
        )
    )


def _version(call: _Call) -> str:
    """Join the numeric parts of a version; OML's programs write -1 for a missing one."""
    given = [part for part in call.arguments if not (isinstance(part, int) and part < 0)]
    return ".".join(str(part) for part in given[:3]) or "0.1.0"


def _is_option(call: _Call) -> bool:
    """Return True if a call declares an option of the program itself; every skeleton has --help already."""
    return call.name == "defProperty" and str(_argument(call, 0)) != "help"


def _point(call: _Call) -> MeasurementPoint:
    fields = [_field(inner) for inner in call.block if inner.name == "defMetric"]
    return MeasurementPoint(str(_argument(call, 0)), tuple(fields))


def _field(call: _Call) -> Field:
    unit, about = (str(call.options.get(key, "")) for key in ("unit", "description"))
    return Field(str(_argument(call, 0)), field_type(str(_argument(call, 1))), unit, about)


def _option(call: _Call) -> Option:
    """Parse `defProperty(name, description, '-x' | '--xx' | ?x, options)`; without a type it is an int."""
    spelling = str(call.arguments[2]) if len(call.arguments) > 2 else ""
    implementation = call.options.get("impl")
    inner = cast("dict[str, object]", implementation) if isinstance(implementation, dict) else {}
    variable = call.options.get("var_name", inner.get("var_name", ""))
    letter = str(call.options.get("mnemonic", spelling.lstrip("-") if len(spelling.lstrip("-")) == 1 else ""))
    name = spelling[2:] if spelling.startswith("--") else str(_argument(call, 0))
    return option(
        name,
        str(call.options.get("type", "int")),
        _number_of(call.options.get("default"), str(call.options.get("type", "int"))),
        description=str(call.arguments[1]) if len(call.arguments) > 1 else "",
        unit=str(call.options.get("unit", "")),
        letter=letter.lstrip("-"),
        variable=str(variable),
    )


def _number_of(default: object, type_name: str) -> object:
    """Convert a quoted number to a number, unless the option is a string."""
    if type_name == "string" or not isinstance(default, str):
        return default
    return _number(default) if re.fullmatch(r"-?\d+(\.\d*)?", default) else default


def _argument(call: _Call, index: int) -> object:
    if len(call.arguments) <= index:
        raise PlanError(f"line {call.line}: {call.name} needs {index + 1} arguments or more")
    return call.arguments[index]
