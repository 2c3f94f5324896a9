"""Schemes whose congestion control is a Python class: ``python:module:Class``."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from trialwise.errors import PlanError
from trialwise.foreign_files import MEBIBYTE, read_foreign

if TYPE_CHECKING:
    from trialwise.schemes.scheme import Scheme

PREFIX = "python:"
_MAX_MODULE = 4 * MEBIBYTE
_LOADS: Mapping[str, str] = {
    "bulk": "bulk",
    "rate": "rate:{amount}bit/s",
    "bytes": "bytes:{amount}B",
    "requests": "requests:{amount}",
    "flows": "flows:{amount}",
    "media": "media:{amount}",
}


def python_scheme(name: str, folder: Path) -> Scheme:
    """Return the scheme of a class such as ``python:vegas:Vegas``: class `Vegas` of `vegas.py` in `folder`. Only simulations run it.

    Raises
    ------
    PlanError
        The name has another form, or the file does not exist, fails, or lacks the class.
    """
    from trialwise.schemes.scheme import Scheme, Side, Simulated

    found = class_named(name, folder)
    _, class_name = _parts(name)
    return Scheme(
        name=name,
        title=class_name,
        sender=Side(()),
        receiver=Side(()),
        source=module_file(name, folder),
        loads=_LOADS,
        simulated=Simulated(found),
        data=files_of(found, name, folder),
    )


def files_of(found: object, name: str, folder: Path) -> tuple[Path, ...]:
    """Return the files that a class reads: those that it names as `files`, relative to the folder of its module.

    Raises
    ------
    PlanError
        They are no names of files, or one does not exist.
    """
    said = getattr(found, "files", ())
    names = cast("Sequence[object]", said) if isinstance(said, list | tuple) else None
    if names is None or not all(isinstance(each, str) for each in names):
        raise PlanError(f"scheme {name!r}: files must be a tuple of names of files, not {said!r}")
    module = module_file(name, folder)
    paths = tuple(module.parent / str(each) for each in names)
    for path in paths:
        if not path.is_file():
            raise PlanError(f"scheme {name!r}: {module} names the file {path}, which does not exist")
    return paths


def class_named(name: str, folder: Path) -> Callable[..., object]:
    """Load the class that a name refers to.

    The file is executed anew each time, so that no trial sees what another left in the module.

    Raises
    ------
    PlanError
        The name has another form, or the file does not exist, fails, or lacks the class.
    """
    module_name, class_name = _parts(name)
    path = module_file(name, folder)
    found = getattr(_module(name, module_name, path), class_name, None)
    if not callable(found):
        raise PlanError(f"scheme {name!r}: {path} has no class {class_name}")
    return found


def class_read(name: str, folder: Path) -> Callable[..., object]:
    """Return an inert class with the `feedback` of the named class, whose file is parsed but not executed.

    Raises
    ------
    PlanError
        The name has another form, or the file does not exist, is not Python, or does not define the class.
    """
    _, class_name = _parts(name)
    path = module_file(name, folder)
    text = read_foreign(path, _MAX_MODULE, error=PlanError) if path.is_file() else None
    if text is None:
        raise _no_file(name, path)
    try:
        module = ast.parse(text, str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise PlanError(f"scheme {name!r}: {path} is not valid Python: {error}") from error
    if class_name not in _names_bound(module):
        raise PlanError(f"scheme {name!r}: {path} has no class {class_name}")
    classes = [each for each in module.body if isinstance(each, ast.ClassDef) and each.name == class_name]
    said = [each for found in classes for each in _literals(found, "feedback")]
    return type(class_name, (_Standing,), {"feedback": said[-1]} if said else {})


class _Standing:
    """A congestion control that does nothing, in place of one that must not be executed."""

    window = 1

    def __init__(self, context: object) -> None:
        pass

    def on_acknowledgement(self, event: object) -> None:
        """Do nothing."""

    on_loss = on_timeout = on_acknowledgement


def _names_bound(module: ast.Module) -> set[str]:
    """Return every name that a module binds, at any depth."""
    names: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.alias(name=name, asname=known):
                names.add(known or name.partition(".")[0])
            case _:
                pass
    return names


def _literals(found: ast.ClassDef, wanted: str) -> Generator[object]:
    """Yield the values of a class attribute that are literals."""
    for node in found.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value))
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=value))
            ) if name == wanted:
                yield value
            case _:
                pass


def module_file(name: str, folder: Path) -> Path:
    """Return the path of the module that a name refers to; raise PlanError if the name has another form."""
    module_name, _ = _parts(name)
    return folder.joinpath(*module_name.split(".")).with_suffix(".py")


def _parts(name: str) -> tuple[str, str]:
    """Split a name into module and class."""
    module_name, _, class_name = name.removeprefix(PREFIX).partition(":")
    if not module_name or not class_name:
        raise PlanError(f"scheme {name!r} names no class", hint="write it as in python:module:Class")
    return module_name, class_name


def _module(scheme: str, name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise _no_file(scheme, path)
    module = importlib.util.module_from_spec(spec)
    try:
        with _importing_from(path.parent), _known_as(name, module):
            spec.loader.exec_module(module)
    except Exception as error:  # whatever the user's code raises
        raise PlanError(
            f"scheme {scheme!r}: {path} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    return module


def _no_file(scheme: str, path: Path) -> PlanError:
    return PlanError(
        f"scheme {scheme!r}: there is no file {path}",
        hint="put the module beside the experiment file, or in the folder of the call",
    )


@contextlib.contextmanager
def _importing_from(folder: Path) -> Generator[None]:
    """Allow imports from a folder too."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


@contextlib.contextmanager
def _known_as(name: str, module: ModuleType) -> Generator[None]:
    """Register a module where dataclasses look for it, while it is executed."""
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        yield
    finally:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
