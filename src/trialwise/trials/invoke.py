"""The script inside the process of a `python` trial: calls one function and writes what it returned.

It is run by its path, without importing anything of Trialwise, so that the process is the user's own.
Arguments: module:function, a file with a JSON object of keywords, and the file for the result. With "-" for the files the
keywords come from standard input, and only whether the function accepts them is checked. With "serve" and a folder it
calls the function repeatedly: a line of JSON for each call, read from and written to the named pipes in the folder.
With a fourth argument, or `"__follow__": true` in a line, it reports which files it has loaded (`measurement/python_modules.py`).
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, cast


def main() -> int:
    """Call the function; exit code 0 if it returned something that can be written, 1 if it raised."""
    target, keywords_file, result_file = sys.argv[1:4]
    sys.path[0] = os.getcwd()  # noqa: PTH109 the folder of the experiment instead of this file's
    if keywords_file == "serve":
        return serve(target, Path(result_file))
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
        for loaded_file in sys.argv[4:]:
            part = Path(f"{loaded_file}.part")  # a trial may be killed while it writes
            part.write_text(json.dumps(_loaded()), encoding="utf-8")
            part.replace(loaded_file)
    return 0


def serve(target: str, folder: Path) -> int:
    """Answer calls until the other side closes; exit code 1 if the function cannot be imported.

    Output goes straight to the files `stdout` and `stderr` of the folder, so that it is complete when a call is
    answered. The first line written signals readiness.
    """
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(file, descriptor)
        os.close(file)
    process = os.getpid()
    with (folder / "requests").open() as requests, (folder / "answers").open("w") as answers:
        try:
            function = _function(target)
        except Exception:  # whatever the user's module raises is the trial's result
            traceback.print_exc()
            return 1
        print("{}", file=answers, flush=True)
        for request in requests:
            answer = _answer(function, json.loads(request))
            if os.getpid() != process:
                break  # a fork that came back from the function has nothing to say
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # whatever the function did to them
                    stream.flush()
            print(json.dumps(answer), file=answers, flush=True)
    return 0


def _answer(function: Callable[..., object], given: dict[str, Any]) -> dict[str, object]:
    """Call the function once: return its result or exception, its start (Unix seconds), and its duration (seconds).

    CPU time is that of the process and of the children that it waited for meanwhile.
    """
    started, follow = time.time(), given.pop("__follow__", False)
    try:
        keywords = _accepted(function, given)
        with _programs_noted() if follow else contextlib.nullcontext(()) as programs:
            before = _cpu_seconds()
            started, began = time.time(), time.perf_counter()
            returned = function(**keywords)
            wall = time.perf_counter() - began
            user, system = (now - then for now, then in zip(_cpu_seconds(), before, strict=True))
        document = _document(returned)
    except Exception as error:  # whatever the user's code raises is the trial's result
        traceback.print_exc()
        said = traceback.format_exception_only(error)[-1].strip()
        return {"started": started, "finished": time.time(), "raised": said}
    answer: dict[str, object] = {
        "started": started,
        "wall": wall,
        "user": user,
        "system": system,
        "document": document,
    }
    if follow:
        answer["loaded"] = _loaded()
        answer["programs"] = programs
        answer["has_children"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 0
    return answer


_Noted = list[tuple[list[str], str, str | None]]
"""Programs that were started: arguments, folder, search path."""
_Started = tuple[Iterable[object], object, Mapping[str, str] | None]
"""Arguments, folder and environment of a call that starts a program."""


@contextlib.contextmanager
def _programs_noted() -> Generator[_Noted]:
    """Note the programs started meanwhile by `subprocess`, `os.system` and `os.posix_spawn`.

    An audit hook would see them too, but cannot be removed, and slows what is measured.
    """
    import subprocess

    noted: _Noted = []
    places: list[tuple[Any, str, Callable[..., _Started]]] = [
        (subprocess.Popen, "__init__", _by_popen),
        (os, "system", _by_system),
        (os, "posix_spawn", _by_spawn),
        (os, "posix_spawnp", _by_spawn),
    ]
    with contextlib.ExitStack() as stack:
        for owner, name, read in places:
            start = getattr(owner, name)
            stack.callback(setattr, owner, name, start)
            setattr(owner, name, _noting(start, read, noted))
        yield noted


def _by_popen(
    _: object,
    args: object,
    *,
    cwd: object = None,
    env: Mapping[str, str] | None = None,
    shell: bool = False,
    **__: object,
) -> _Started:
    words: Iterable[object] = (
        [cast("object", args)]
        if isinstance(args, str | bytes | os.PathLike)
        else cast("Iterable[object]", args)
    )
    return (["/bin/sh", "-c", *words] if shell else words), cwd, env


def _by_system(command: object) -> _Started:
    return ["/bin/sh", "-c", command], None, None


def _by_spawn(path: object, words: Iterable[object], env: Mapping[str, str], **_: object) -> _Started:
    return [path, *list(words)[1:]], None, env


def _noting(
    start: Callable[..., object], read: Callable[..., _Started], noted: _Noted
) -> Callable[..., object]:
    def noting(*given: object, **named: object) -> object:
        with contextlib.suppress(Exception):  # the call itself rejects what is not a program
            words, folder, environment = read(*given, **named)
            path = (os.environ if environment is None else environment).get("PATH")
            place = os.path.join(os.getcwd(), _text(folder or ""))  # noqa: PTH109, PTH118
            noted.append(([_text(word) for word in words], place, path))
        return start(*given, **named)

    return noting


def _text(word: object) -> str:
    return os.fsdecode(cast("str | bytes | os.PathLike[str]", word))


def _loaded() -> dict[str, list[str]]:
    """Name the files of the loaded modules, and of everything mapped executable (proc_pid_maps(5))."""
    modules = [
        vars(module).get("__file__") for module in list(sys.modules.values()) if inspect.ismodule(module)
    ]
    mapped = [
        line.split(maxsplit=5)
        for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines()
    ]
    return {
        "modules": sorted(
            {path for path in modules if isinstance(path, str) and path.startswith("/")} - {__file__}
        ),
        "libraries": sorted(
            {parts[5] for parts in mapped if len(parts) == 6 and "x" in parts[1] and parts[5].startswith("/")}
        ),
    }


def _cpu_seconds() -> tuple[float, float]:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime for each in used), sum(each.ru_stime for each in used)


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
    """Return the factors, and those built-in values that the function names as parameters."""
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
    is_scalar = getattr(value, "ndim", 1) == 0  # a NumPy array without dimensions claims to be iterable
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
