"""Generate a Python program: a typed function for each measurement point."""

from __future__ import annotations

import keyword

from trialwise.measurement.scaffold.description import Field, MeasurementPoint, Option, Program
from trialwise.measurement.scaffold.spelling import docstring, identifiers, quoted

_KEYWORDS = frozenset(keyword.kwlist)
_PYTHON_TYPES = {"double": "float", "bool": "bool", "string": "str", "blob": "bytes", "flag": "bool"}


def python_skeleton(program: Program) -> dict[str, str]:
    """Return the file NAME.py."""
    return {f"{program.name}.py": _main(program)}


def _type(kind: str) -> str:
    return _PYTHON_TYPES.get(kind, "int")


def _field_type(field: Field) -> str:
    return f"Sequence[{_type(field.element)}]" if field.element else _type(field.type)


def _constant(point: MeasurementPoint) -> str:
    return point.name.upper() if not point.name.startswith("_") else f"POINT{point.name.upper()}"


def _main(program: Program) -> str:
    about = " ".join(f"{program.name} {program.version}: {program.description}".rstrip(": ").split())
    declared = "\n".join(_declaration(point) for point in program.points)
    functions = "\n\n\n".join(_function(point) for point in program.points)
    calls = "\n".join(f"            inject_{point.name}({_arguments(point)})" for point in program.points)
    options = "".join(_argument(option) for option in program.options)
    vectors = any(field.element for point in program.points for field in point.fields)
    return f"""\
{docstring(about + ".")}

from __future__ import annotations

import argparse
import sys
{"from collections.abc import Sequence" + chr(10) if vectors else ""}
from trialwise.measurement import Client, Point

CLIENT = Client({quoted(program.name)}, arguments=sys.argv)
{declared}


{functions}


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description={quoted(program.description or program.name)})
{options}    return parser.parse_args()


def main() -> None:
    read_options()
    # What the program does. Put what it measures in the place of the examples.
    with CLIENT:
        for count in range(10):
{calls}


if __name__ == "__main__":
    main()
"""


def _declaration(point: MeasurementPoint) -> str:
    fields = ", ".join(f"{quoted(field.name)}: {quoted(field.type)}" for field in point.fields)
    return f"{_constant(point)} = Point({quoted(point.name)}, {{{fields}}}, client=CLIENT)"


def _function(point: MeasurementPoint) -> str:
    names = identifiers(point, _KEYWORDS)
    pairs = list(zip(point.fields, names, strict=True))
    parameters = ", ".join(f"{name}: {_field_type(field)}" for field, name in pairs)
    about = " ".join(point.description.split()) or f"A sample of {point.name}."
    comments = "".join(f"\n    # {name}: {field.comment}" for field, name in pairs if field.comment)
    return f"""\
def inject_{point.name}(*, {parameters}) -> bool:
    {docstring(about)}{comments}
    return {_constant(point)}.inject({", ".join(names)})"""


def _arguments(point: MeasurementPoint) -> str:
    names = identifiers(point, _KEYWORDS)
    return ", ".join(f"{name}={_example(field)}" for field, name in zip(point.fields, names, strict=True))


def _example(field: Field) -> str:
    if field.element:
        return {"bool": "[True, False]", "double": "[0.0, 1.0]"}.get(field.element, "[0, 1]")
    examples = {
        "string": '"text"',
        "blob": 'b"\\x01\\x02"',
        "bool": "count % 2 == 0",
        "double": "0.5 * count",
    }
    return examples.get(field.type, "count")


def _argument(option: Option) -> str:
    spellings = [*([quoted(f"-{option.letter}")] if option.letter else []), quoted(f"--{option.name}")]
    about = " ".join(f"{option.description} [{option.unit}]".split()) if option.unit else option.description
    help_text = quoted(about.replace("%", "%%"))
    if option.type == "flag":
        action = "store_false" if option.default else "store_true"
        more = [f"action={quoted(action)}"]
    else:
        default = quoted(option.default) if isinstance(option.default, str) else repr(option.default)
        more = [f"type={_type(option.type)}", f"default={default}"]
    parts = [*spellings, f"dest={quoted(option.variable)}", *more, f"help={help_text}"]
    return f"    parser.add_argument({', '.join(parts)})\n"
