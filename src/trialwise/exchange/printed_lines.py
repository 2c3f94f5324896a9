r"""Find out what a script prints by reading it, without running any of it.

A script from elsewhere may do anything. Only what scripts that list commands consist of is understood: in
Python, values, lists, loops over them, f-strings and `print`; in a shell, `echo`, `printf '%s\n'` and `cat << WORD` of
plain text. Anything else is rejected with its line.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import cast

MAX_STEPS = 100_000
"""Maximum number of statements followed."""
LONGEST = 64 * 1024
"""Maximum characters of a text in a script."""
_FORMAT = re.compile(r"0?\d{0,2}(\.\d)?[dfegs]?")
_FIELD = re.compile(r"%(?:%|[-0+ ]?\d{0,2}(?:\.\d)?[sdifegx])")
_MAIN = "__main__"


class NotUnderstoodError(Exception):
    """A line of a script does more than list texts."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def printed_by_python(text: str) -> list[str]:
    """Return the lines that a Python script prints.

    Raises
    ------
    NotUnderstoodError
        It does something else.
    """
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotUnderstoodError(getattr(error, "lineno", None) or 1) from error
    reader = _Reader()
    reader.run(module.body)
    return "".join(reader.printed).splitlines()


def values_by_python(text: str) -> dict[str, object]:
    """Return the plain values that a Python module assigns at its top level; other statements are skipped.

    Raises
    ------
    NotUnderstoodError
        It is not Python, or a value or a loop does more than make plain values.
    """
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotUnderstoodError(getattr(error, "lineno", None) or 1) from error
    reader = _Reader()
    for statement in module.body:
        match statement:
            case ast.AnnAssign(ast.Name() as target, _, ast.expr() as value):
                assigned = ast.Assign([target], value, lineno=statement.lineno)
                reader.run([assigned])
            case (
                ast.Assign([ast.Name()]) | ast.For() | ast.Expr(ast.Call(ast.Attribute(ast.Name(), "append")))
            ):
                reader.run([statement])
            case _:
                pass
    return {name: value for name, value in reader.names.items() if name != "__name__"}


def printed_by_shell(text: str) -> list[str]:
    """Return the lines that a shell script prints.

    Raises
    ------
    NotUnderstoodError
        It does something else.
    """
    lines = iter(enumerate(text.splitlines(), 1))
    return [printed for number, line in lines for printed in _echoed(number, line.strip(), lines)]


# Shell


def _echoed(number: int, line: str, rest: Iterator[tuple[int, str]]) -> list[str]:
    if not line or line.startswith("#") or re.fullmatch(r"set -\w+|exit 0", line):
        return []
    if found := re.fullmatch(r"cat\s*<<\s*(['\"]?)(\w+)\1", line):
        return list(_until(found.group(2), number, rest, plain=bool(found.group(1))))
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise NotUnderstoodError(number) from error
    unquoted = re.sub(r"'[^']*'", "", line)
    if re.search(r"[$`\\]", unquoted) or re.search(r"[;&|<>(){}*?]", re.sub(r"\"[^\"]*\"", "", unquoted)):
        raise NotUnderstoodError(number)
    if words[:1] == ["echo"] and not (len(words) > 1 and words[1].startswith("-")):
        return [" ".join(words[1:])]
    if words[:2] == ["printf", "%s\\n"]:
        return words[2:]
    raise NotUnderstoodError(number)


def _until(word: str, start: int, rest: Iterator[tuple[int, str]], *, plain: bool) -> Iterator[str]:
    for number, line in rest:
        if line == word:
            return
        if not plain and re.search(r"[$`\\]", line):
            raise NotUnderstoodError(number)
        yield line
    raise NotUnderstoodError(start)


# Python


class _Reader:
    """Follows the few statements that are understood, up to a limit."""

    def __init__(self) -> None:
        self.printed: list[str] = []
        self.names: dict[str, object] = {"__name__": _MAIN}
        self.functions: dict[str, list[ast.stmt]] = {}
        self.steps = 0

    def run(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise NotUnderstoodError(statement.lineno)
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                pass
            case ast.Expr(ast.Constant()):
                pass
            case ast.FunctionDef(name, args) if not (
                args.args or args.vararg or args.kwonlyargs or args.kwarg
            ):
                self.functions[name] = statement.body
            case ast.Assign([ast.Name(name)], value):
                self.names[name] = self._value(value)
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "append"), [item], [])) if isinstance(
                known := self.names.get(name), list
            ):
                cast("list[object]", known).append(self._value(item))
            case ast.For(target, over, body, []):
                self._loop(target, self._value(over), body)
            case ast.If(ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]), body):
                self.run(body)
            case ast.Expr(ast.Call(ast.Name(name), arguments, keywords)):
                self._call(name, arguments, keywords, statement)
            case _:
                raise NotUnderstoodError(statement.lineno)

    def _list(self, item: ast.expr, target: ast.expr, over: object) -> list[object]:
        if not isinstance(over, list | tuple | range | dict):
            raise NotUnderstoodError(target.lineno)
        found: list[object] = []
        for value in cast("list[object]", over):
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise NotUnderstoodError(target.lineno)
            self._assign(target, value)
            found.append(self._value(item))
        return found

    def _loop(self, target: ast.expr, over: object, body: list[ast.stmt]) -> None:
        if not isinstance(over, list | tuple | range | dict):
            raise NotUnderstoodError(target.lineno)
        for value in cast("list[object]", over):
            self._assign(target, value)
            self.run(body)

    def _assign(self, target: ast.expr, value: object) -> None:
        match target:
            case ast.Name(name):
                self.names[name] = value
            case ast.Tuple(parts) if isinstance(value, list | tuple):
                values = cast("list[object]", value)
                if len(values) != len(parts):
                    raise NotUnderstoodError(target.lineno)
                for part, inner in zip(parts, values, strict=True):
                    self._assign(part, inner)
            case _:
                raise NotUnderstoodError(target.lineno)

    def _call(
        self, name: str, arguments: list[ast.expr], keywords: list[ast.keyword], statement: ast.stmt
    ) -> None:
        if name == "print" and not keywords:
            self.printed.append(" ".join(str(self._value(argument)) for argument in arguments) + "\n")
        elif name in self.functions and not arguments and not keywords:
            body = self.functions.pop(name)  # no recursion
            self.run(body)
            self.functions[name] = body
        else:
            raise NotUnderstoodError(statement.lineno)

    def _value(self, node: ast.expr) -> object:
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name) if name in self.names:
                return self.names[name]
            case ast.List(items) | ast.Tuple(items):
                return [self._value(item) for item in items]
            case ast.Dict(keys, values) if None not in keys:
                pairs = zip(cast("list[ast.expr]", keys), values, strict=True)
                return {str(self._value(key)): self._value(value) for key, value in pairs}
            case ast.JoinedStr() | ast.BinOp():
                return self._text(node)
            case _:
                return self._computed(node)

    def _computed(self, node: ast.expr) -> object:
        match node:
            case ast.ListComp(item, [ast.comprehension(target, over, [], 0)]):
                return self._list(item, target, self._value(over))
            case ast.Call(function, arguments, []):
                return self._result(function, [self._value(argument) for argument in arguments], node)
            case _:
                raise NotUnderstoodError(node.lineno)

    def _text(self, node: ast.JoinedStr | ast.BinOp) -> str:
        match node:
            case ast.JoinedStr(parts):
                return self._short("".join(self._part(part) for part in parts), node)
            case ast.BinOp(left, ast.Add(), right):
                return self._sum(self._value(left), self._value(right), node)
            case ast.BinOp(left, ast.Mod(), right):
                return self._filled(self._value(left), self._value(right), node)
            case _:
                raise NotUnderstoodError(node.lineno)

    def _part(self, part: ast.expr) -> str:
        match part:
            case ast.Constant(str(text)):
                return text
            case ast.FormattedValue(value, -1, None):
                return str(self._value(value))
            case ast.FormattedValue(value, -1, ast.JoinedStr([ast.Constant(str(form))])) if _FORMAT.fullmatch(
                form
            ):
                found = self._value(value)
                if isinstance(found, str | int | float):
                    return _formatted(found, form, part)
            case _:
                pass
        raise NotUnderstoodError(part.lineno)

    def _sum(self, left: object, right: object, node: ast.expr) -> str:
        if not (isinstance(left, str) and isinstance(right, str)):
            raise NotUnderstoodError(node.lineno)
        return self._short(left + right, node)

    def _filled(self, form: object, values: object, node: ast.expr) -> str:
        """Format a text as printf does, with widths of two digits at most."""
        if not isinstance(form, str) or "%" in _FIELD.sub("", form):
            raise NotUnderstoodError(node.lineno)
        given = tuple(cast("list[object]", values)) if isinstance(values, list) else (values,)
        try:
            return self._short(form % given, node)
        except (TypeError, ValueError, OverflowError) as error:
            raise NotUnderstoodError(node.lineno) from error

    def _short(self, text: str, node: ast.expr) -> str:
        if len(text) > LONGEST:
            raise NotUnderstoodError(node.lineno)
        return text

    def _result(self, function: ast.expr, arguments: list[object], node: ast.expr) -> object:
        match function:
            case ast.Name("range") if 1 <= len(arguments) <= 3 and all(
                isinstance(each, int) for each in arguments
            ):
                return range(*cast("list[int]", arguments))
            case ast.Name("str") if len(arguments) == 1:
                return str(arguments[0])
            case ast.Attribute(owner, "items") if not arguments and isinstance(
                table := self._value(owner), Mapping
            ):
                return [[key, value] for key, value in cast("Mapping[str, object]", table).items()]
            case ast.Attribute(owner, "join") if len(arguments) == 1 and isinstance(arguments[0], list):
                between, texts = self._value(owner), cast("list[object]", arguments[0])
                if isinstance(between, str) and all(isinstance(text, str) for text in texts):
                    return self._short(between.join(cast("list[str]", texts)), node)
            case _:
                pass
        raise NotUnderstoodError(node.lineno)


def _formatted(value: str | float, form: str, node: ast.expr) -> str:
    try:
        return format(value, form)
    except ValueError as error:
        raise NotUnderstoodError(node.lineno) from error


READERS: Mapping[str, Callable[[str], list[str]]] = {
    "python": printed_by_python,
    "python3": printed_by_python,
    "bash": printed_by_shell,
    "sh": printed_by_shell,
    "cat": str.splitlines,
}
"""How to find out what a program prints, from the file it is given."""
