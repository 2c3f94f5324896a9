"""Convert an OrderSage experiment to an experiment file.

OrderSage (https://github.com/ordersage/ordersage) has a `config.py` with the workers, the number of runs and the call of a
script that prints the command of each test. A shell runs each command in the folder of the experiment repository, and the command
appends one number to a file of results; half of the runs take the tests as printed and half shuffle them, and between
runs the worker is rebooted. Only plain values of `config.py` are read; neither it nor the script is run.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import cast

from trialwise.errors import PlanError
from trialwise.exchange.printed_lines import READERS, NotUnderstoodError, values_by_python
from trialwise.experiment.problems import shown
from trialwise.experiment.template import usable_name
from trialwise.experiment.text import read_text
from trialwise.experiment.toml_writing import toml_value

_PERF = ("task-clock", "context-switches", "cpu-migrations", "page-faults", "cycles", "instructions", "branches",
         "branch-misses")  # fmt: skip
"""Events that `perf stat` counts by default."""
_LAST_OF_LINE = r"(?:^|[^\S\n])([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)[^\S\n]*$"
_MAX_SCRIPTS = 1000
_MAX_SCRIPT = 1 << 20
_HINT = "run the script yourself where you trust it, and give what it prints: --commands FILE"


@dataclass(frozen=True, slots=True)
class OrderSage:
    """The content of an OrderSage repository: its configuration, the tests' working directory, and their commands."""

    config: Mapping[str, object]
    folder: Path
    commands: tuple[str, ...]

    @property
    def results(self) -> str:
        """The file of results as the tests see it: relative to their folder if it is inside.

        It lies below the home folder, into which OrderSage clones the tests, if they name it there.
        """
        path = PurePosixPath(_text(self.config, "results_dir", "results")) / _text(
            self.config, "results_file", "results.txt"
        )
        home = f"~/{self.repository}"
        if path.is_relative_to(home) and _is_named(home, self.folder):
            return str(path)
        for place in (home, self.repository):
            if path.is_relative_to(place):
                return str(path.relative_to(place))
        return str(path)

    @property
    def repository(self) -> str:
        """The name of the folder that OrderSage clones the tests into."""
        return (
            PurePosixPath(_text(self.config, "repo", self.folder.name)).name.removesuffix(".git")
            or self.folder.name
        )


def read_ordersage(folder: Path, commands: Path | None = None) -> OrderSage:
    """Read an OrderSage repository.

    Parameters
    ----------
    folder
        Contains `config.py`; the tests' own repository is there too, or in a subfolder of its name.
    commands
        A file with what the script prints, one command per line; None to read the script.

    Raises
    ------
    PlanError
        Something is missing, or a value or the script cannot be determined without running it.
    """
    config = _config(folder / "config.py")
    inner = folder / OrderSage(config, folder, ()).repository
    found = OrderSage(config, inner if inner.is_dir() else folder, ())
    lines = read_text(commands).splitlines() if commands else _printed(found)
    tests = [line.strip() for line in lines if line.strip()]
    if not tests:
        raise PlanError(f"{folder}: the script prints no command", hint=_HINT)
    if twice := [test for number, test in enumerate(tests) if test in tests[:number]]:
        raise PlanError(
            f"{folder}: the command {twice[0]!r} occurs twice, but every treatment runs once per round",
            hint="make them differ, as by a variable before one: TRIAL=2 …; or leave one out with --commands FILE",
        )
    return OrderSage(config, found.folder, tuple(tests))


_MAX_RUNS = 500_000
"""Maximum runs of each order: an experiment has at most a million rounds."""


def experiment_text(source: OrderSage, file: Path) -> str:
    """Return the commented experiment file that does what OrderSage does; `file` is its future path."""
    config = source.config
    runs = config.get("n_runs", 10)
    if not isinstance(runs, int) or isinstance(runs, bool) or not 1 <= runs <= _MAX_RUNS:
        raise PlanError(
            f"config.py: n_runs must be a whole number from 1 to {_MAX_RUNS}; given: {shown(runs)}"
        )
    seed = config.get("seed")
    directory = os.path.relpath(source.folder.resolve(), file.resolve().parent)
    return _TEXT.format(
        name=toml_value(usable_name(source.repository)),
        seed=seed if isinstance(seed, int) and 0 <= seed < 2**63 else 0,
        tests="".join(f"  {toml_value(test)},\n" for test in source.commands),
        directory=toml_value(directory),
        prepare=toml_value(_made(str(PurePosixPath(source.results).parent))),
        file=toml_value(source.results),
        number=_LAST_OF_LINE,
        rounds=2 * runs,
        halves=_halves(config),
        reset=_reset(config),
        instrumentation=_instrumentation(config),
        workers=_workers(source, directory),
    )


def _halves(config: Mapping[str, object]) -> str:
    if config.get("interleave") is False:
        return "  # config.py ran one half after the other, so that drift passed for an effect of the order"
    return ""


def _reset(config: Mapping[str, object]) -> str:
    if config.get("reset", config.get("reboot", True)) is False:
        return ""
    return "\n[reset]\nreboot = true                       # needs a worker that is reached by ssh\n"


def _instrumentation(config: Mapping[str, object]) -> str:
    modules = config.get("instrumentation_modules")
    names = [str(name) for name in cast("list[object]", modules)] if isinstance(modules, list) else []
    if not names:
        return ""
    lines = [f"perf = {toml_value(_PERF)}"] if "perf" in names else []
    if "pin_to_core" in names:
        lines.append("# cpus = [0]                       # config.py pins with pin_to_core: write the core")
    other = sorted(set(names) - {"perf", "pin_to_core"})
    lines += [f"# {name}: has no counterpart here" for name in other if re.fullmatch(r"[\w.-]+", name)]
    return "\n".join(["\n[instrumentation]", *lines, ""])


def _made(folder: str) -> list[str]:
    """Return the command that creates the folder of results; a shell resolves ~."""
    if not folder.startswith("~/"):
        return ["mkdir", "-p", folder]
    return ["bash", "-c", f"mkdir -p ~/{shlex.quote(folder[2:])}"]


def _workers(source: OrderSage, directory: str) -> str:
    config = source.config
    hosts = config.get("workers", config.get("worker"))
    names = [hosts] if isinstance(hosts, str) else cast("Sequence[object]", hosts or [])
    if not names:
        return ""
    port = config.get("port_num", 22)
    user = _text(config, "user", "")
    addresses = [
        f"ssh://{user + '@' if user else ''}{name}" + ("" if port == 22 else f":{port}") for name in names
    ]
    lines = ["", "# On this machine alone: trialwise run FILE --workers local", "[workers]"]
    lines.append(f"use = {toml_value(addresses)}")
    if setup := _setup(source, directory):
        lines.append(f"setup = {toml_value(['bash', '-c', setup])}")
    return "\n".join([*lines, ""])


def _setup(source: OrderSage, directory: str) -> str:
    """Return what initialises a worker, in the tests' folder: OrderSage calls it in the home folder, above the clone."""
    call = _text(source.config, "init_script_call", "")
    for home in (f"~/{source.repository}", source.repository):
        for begin in (f"cd {home} && ", f"cd {home}/ && "):
            if call.startswith(begin):
                return f"cd {shlex.quote(directory)} && {call.removeprefix(begin)}"
    return call


def _is_named(home: str, folder: Path) -> bool:
    """Return True if a script of the tests names a folder below the home folder, as ~/NAME or $HOME/NAME."""
    names = [home.replace("~", tilde, 1).encode() for tilde in ("~", "$HOME", "${HOME}")]
    for path in itertools.islice(sorted(folder.rglob("*")), _MAX_SCRIPTS):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MAX_SCRIPT:
            text = path.read_bytes()
            if any(name in text for name in names):
                return True
    return False


# Reading


def _config(path: Path) -> Mapping[str, object]:
    """Read the plain values of a Python configuration without running it."""
    if not path.is_file():
        raise PlanError(f"{path}: there is none", hint="name the folder of OrderSage's config.py")
    try:
        module = ast.parse(read_text(path))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise PlanError(f"{path}:{getattr(error, 'lineno', None) or 1}: is not Python") from error
    try:
        return values_by_python(read_text(path))
    except NotUnderstoodError as error:
        raise PlanError(
            f"{path}:{error.line}: {_named(module, error.line)} is more than a plain value, and config.py is not run",
            hint="write the value itself, as in n_runs = 10",
        ) from error


def _named(module: ast.Module, line: int) -> str:
    """Return the name that a line assigns to, or a phrase for the line."""
    for statement in module.body:
        match statement:
            case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)) if (
                statement.lineno <= line <= (statement.end_lineno or line)
            ):
                return name
            case _:
                pass
    return "what stands there"


def _text(config: Mapping[str, object], name: str, default: str) -> str:
    value = config.get(name, default)
    if not isinstance(value, str):
        raise PlanError(f"config.py: {name} must be a text; given: {value!r}")
    return value


def _printed(source: OrderSage) -> list[str]:
    """Return what the script in `exp_script_call` prints, by reading it."""
    program, script = _script(source)
    path = source.folder / script
    if not path.resolve().is_relative_to(source.folder.resolve()) or not path.is_file():
        raise PlanError(f"{path}: the script that prints the commands is missing", hint=_HINT)
    reader = READERS.get(program or {".py": "python3", ".sh": "bash"}.get(path.suffix, ""))
    if reader is None:
        raise PlanError(f"{path}: what it prints can be read from a script of Python or sh only", hint=_HINT)
    try:
        return reader(read_text(path))
    except NotUnderstoodError as error:
        raise PlanError(
            f"{path}:{error.line}: what it prints cannot be known without running it", hint=_HINT
        ) from error


def _script(source: OrderSage) -> tuple[str, str]:
    """Return the program and the script of a call such as ``cd test-experiments && python3 exp_config.py``."""
    call = _text(source.config, "exp_script_call", _text(source.config, "configfile_path", ""))
    place, words = PurePosixPath(), list[str]()
    for part in call.split("&&"):
        try:
            words = shlex.split(part)
        except ValueError as error:
            raise PlanError(f"config.py: exp_script_call {call!r} cannot be split", hint=_HINT) from error
        if words[:1] == ["cd"] and len(words) == 2:
            place /= words[1]
    if not words or len(words) > 2:
        raise PlanError(f"config.py: exp_script_call {call!r} is not a call of one script", hint=_HINT)
    script = place / words[-1]
    for home in (f"~/{source.repository}", source.repository):
        if script.is_relative_to(home):
            script = script.relative_to(home)
    return (words[0] if len(words) == 2 else ""), str(script)


_TEXT = """\
# Made from an OrderSage configuration: half of the rounds in the order of its script, half in random orders, mixed.
#   trialwise plan FILE     how many trials, in what order
#   trialwise run FILE      run it

[experiment]
name = {name}
seed = {seed}

# The commands in the order in which the script prints them: the fixed order.
[factors]
test = [
{tests}]

# Each is run by a shell in the folder of the tests, and appends a number to the file of results.
# Of several numbers, each is a sample of the trial, and `measure` says what is made of them.
[trial]
command = ["bash", "-c", "{{test}}"]
directory = {directory}
prepare = {prepare}

[metrics.result]
file = {file}
pattern = '{number}'
matches = "all"
measure = "mean"
# unit = ""
# better = "higher"

[design]
order = "fixed+random"
rounds = {rounds}                          # n_runs of each order{halves}
series = 1
{reset}{instrumentation}{workers}"""
