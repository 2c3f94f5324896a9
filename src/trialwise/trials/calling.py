"""What runs inside the fresh process of a `python` trial: calls one function and writes down what it returned.

Run as a script by its path, with nothing of Trialwise imported, so that the process is the user's own.
Arguments: module:function, a file with a JSON object of keywords, and the file for the result. With "-" for the files the
keywords come from standard input, and whether the function takes them is all that is looked at.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast


def main() -> int:
    """Call the function; exit code 0 when it returned something that can be written down, 1 when it raised."""
    target, keywords_file, result_file = sys.argv[1:4]
    sys.path[0] = os.getcwd()  # noqa: PTH109 the folder of the experiment instead of this file's
    process = os.getpid()
    try:
        function = _function(target)
        keywords = _accepted(function, json.loads(_read(keywords_file)))
        if result_file == "-":
            inspect.signature(function).bind(**keywords)
            return 0
        document = _document(function(**keywords))
    except Exception:  # whatever the user's code raises is the trial's result
        traceback.print_exc()
        return 1
    if os.getpid() == process:  # a fork that came back from the function has nothing to say
        Path(result_file).write_text(json.dumps(document), encoding="utf-8")
    return 0


def _read(name: str) -> str:
    return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")


def _function(target: str) -> Callable[..., object]:
    module, _, path = target.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    if not callable(found):
        message = f"{target} is not callable"
        raise TypeError(message)
    return found


def _accepted(function: Callable[..., object], keywords: dict[str, Any]) -> dict[str, Any]:
    """Hand over the factors, and of the built-in values those that the function names."""
    parameters = inspect.signature(function).parameters
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    built_in = keywords.pop("__built_in__")
    return {name: value for name, value in built_in.items() if name in parameters or takes_all} | keywords


def _document(returned: object) -> dict[str, dict[str, list[float] | None]]:
    if isinstance(returned, Mapping):
        return {str(name): _entry(value) for name, value in cast("Mapping[object, object]", returned).items()}
    return {"": _entry(returned)}


def _entry(value: object) -> dict[str, list[float] | None]:
    """Write a number, a sequence of numbers, or {"values": …, "times": …} as plain lists."""
    if not isinstance(value, Mapping):
        return {"values": _numbers(value), "times": None}
    entry = cast("Mapping[str, object]", value)
    if "values" not in entry:
        message = f"a metric with samples is {{'values': …, 'times': …}}, not a mapping with {', '.join(map(str, entry))}"
        raise TypeError(message)
    return {
        "values": _numbers(entry["values"]),
        "times": _numbers(entry["times"]) if "times" in entry else None,
    }


def _numbers(value: object) -> list[float]:
    is_scalar = (
        getattr(value, "ndim", 1) == 0
    )  # an array of NumPy without dimensions says that it can be iterated
    if is_scalar or isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return [_number(value)]
    return [_number(item) for item in cast("Iterable[object]", value)]


def _number(item: object) -> float:
    if isinstance(item, bool | str) or not hasattr(item, "__float__"):
        message = f"a metric is a number or a sequence of numbers, not {item!r:.200}"
        raise TypeError(message)
    number: Any = item
    return float(number)


if __name__ == "__main__":
    sys.exit(main())
