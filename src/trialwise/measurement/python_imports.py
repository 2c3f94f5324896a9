"""Find the project modules that a Python program imports by reading its text; nothing is executed.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import ast
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Module = tuple[int, str]  # dots before the name, and the name

MAX_FILES = 500
MAX_BYTES = 1 << 20
"""Larger files are not searched for imports."""


def imported_files(start: Path, folders: Sequence[Path]) -> Iterator[Path]:
    """Name the modules that a file imports, and those that these import, if they lie below `folders`.

    Python's own modules and installed packages lie elsewhere. Modules imported under a name computed at run time are
    not found.
    """
    seen = {start}
    waiting = [start]
    while waiting:
        file = waiting.pop()
        for module in _modules(file):
            for found in _files(module, [*_own_folders(file, module), *folders]):
                if found not in seen and len(seen) < MAX_FILES:
                    seen.add(found)
                    waiting.append(found)
                    yield found


def module_files(module: str, folders: Sequence[Path]) -> list[Path]:
    """Name the files of the packages around the module that `python -m MODULE` runs, then the module itself."""
    return list(_files((0, f"{module}.__main__"), folders))


def _modules(file: Path) -> Iterator[Module]:
    try:
        if file.stat().st_size > MAX_BYTES:
            return
        tree = ast.parse(file.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield node.level, base
            yield from ((node.level, f"{base}.{alias.name}".lstrip(".")) for alias in node.names)


def _own_folders(file: Path, module: Module) -> list[Path]:
    """Return the folder that a relative import starts from."""
    level = module[0]
    return [file.parents[level - 1]] if 0 < level <= len(file.parents) else []


def _files(module: Module, folders: Sequence[Path]) -> Iterator[Path]:
    """Name the files of a module and its enclosing packages, in the first folder that has it."""
    level, name = module
    parts = [part for part in name.split(".") if part]
    for folder in folders[:1] if level else folders:
        found = list(_below(folder, parts))
        if found:
            yield from found
            return


def _below(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    for depth in range(len(parts) + 1):
        package = folder.joinpath(*parts[:depth])
        if depth and (package / "__init__.py").is_file():
            yield package / "__init__.py"
        elif depth and package.with_name(f"{package.name}.py").is_file():
            yield package.with_name(f"{package.name}.py")
            return
        elif depth and not package.is_dir():
            return
