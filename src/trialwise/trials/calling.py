"""What runs inside the fresh process of a `python` trial: calls one function and writes down what it returned.

Run as a script by its path, with nothing of Trialwise imported, so that the process is the user's own.
Arguments: module:function, a file with a JSON object of keywords, and the file for the result.
"""

import importlib
import inspect
import json
import os
import sys
import traceback


def main() -> int:
    """Call the function; exit code 0 when it returned something that can be written down, 1 when it raised."""
    target, keywords_file, result_file = sys.argv[1:4]
    sys.path[0] = os.getcwd()  # noqa: PTH109
    try:
        function = _function(target)
        with open(keywords_file, encoding="utf-8") as file:  # noqa: PTH123
            keywords = json.load(file)
        document = _document(function(**_accepted(function, keywords)))
    except Exception:
        traceback.print_exc()
        return 1
    with open(result_file, "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(document, file)
    return 0


def _function(target):  # noqa: ANN001, ANN202
    module, _, path = target.partition(":")
    found = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _accepted(function, keywords):  # noqa: ANN001, ANN202
    """Hand over the factors, and of the built-in values those that the function names."""
    parameters = inspect.signature(function).parameters
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    built_in = keywords.pop("__built_in__")
    wanted = {name: value for name, value in built_in.items() if name in parameters or takes_all}
    return {**wanted, **keywords}


def _document(returned):  # noqa: ANN001, ANN202
    if isinstance(returned, dict):
        return {str(name): _entry(value) for name, value in returned.items()}
    return {"": _entry(returned)}


def _entry(value):  # noqa: ANN001, ANN202
    """Write a number, a sequence of numbers, or {"values": …, "times": …} as plain lists."""
    if isinstance(value, dict):
        return {
            "values": _numbers(value["values"]),
            "times": None if value.get("times") is None else _numbers(value["times"]),
        }
    return {"values": _numbers(value), "times": None}


def _numbers(value):  # noqa: ANN001, ANN202
    if hasattr(value, "tolist"):
        value = value.tolist()
    items = (
        list(value)
        if isinstance(value, list | tuple) or (hasattr(value, "__iter__") and not isinstance(value, str))
        else [value]
    )
    if any(
        isinstance(item, bool) or (not isinstance(item, int | float) and not hasattr(item, "__float__"))
        for item in items
    ):
        message = f"a metric is a number or a sequence of numbers, not {value!r:.200}"
        raise TypeError(message)
    return [float(item) for item in items]


if __name__ == "__main__":
    sys.exit(main())
