"""Change one operator, number or condition of a module, and see whether the tests of that module notice: mutation testing by sample.

`python tests/mutants.py ROOM… [--sample N] [--seed SEED] [--line PATTERN]` draws N mutants of each room (statistics, store, …) at
random and says which the tests let pass. A mutant is tried in a copy of the package; its tests are the unit, golden and
property tests that mention a function or class of its module (four files at most), or where none does, all unit tests of its room.
It survives rightly where what it changes cannot be seen: a message, a speed, an equal bound.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "trialwise"
PATIENCE = 60
MOST_FILES = 4
COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "+"}


@dataclass(frozen=True)
class Mutant:
    """One change: bytes from `begin` to `end` of a module become `text`."""

    module: Path
    line: int
    begin: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.begin] + self.text.encode() + source[self.end :]


def mutants(module: Path) -> Iterator[Mutant]:  # noqa: C901  a case for each kind
    """Every mutant of a module."""
    source = module.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.expr, *, end: bool) -> int:
        if end:
            return starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
        return starts[node.lineno - 1] + node.col_offset

    def between(left: ast.expr, right: ast.expr, text: str) -> Mutant:
        # Parentheses stay as they are: only what is no bracket or blank between two operands is replaced.
        begin, end = place(left, end=True), place(right, end=False)
        found = re.search(rb"[^()\s\\][^()\\]*", source[begin:end])
        first, last = (found.start(), len(found[0].rstrip())) if found else (0, 0)
        return Mutant(module, left.lineno, begin + first, begin + first + last, text)

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(ops=[operator], comparators=[right]) if type(operator) in COMPARISONS:
                yield between(node.left, right, COMPARISONS[type(operator)])
            case ast.BinOp(op=operator) if type(operator) in OPERATORS:
                yield between(node.left, node.right, OPERATORS[type(operator)])
            case ast.BoolOp(values=[left, right, *_]):
                yield between(left, right, "or" if isinstance(node.op, ast.And) else "and")
            case ast.UnaryOp(op=ast.Not()):
                yield Mutant(module, node.lineno, place(node, end=False), place(node.operand, end=False), "")
            case ast.Constant(value=bool() as value):
                yield Mutant(
                    module, node.lineno, place(node, end=False), place(node, end=True), str(not value)
                )
            case ast.Constant(value=int() | float() as value):
                begin, end = place(node, end=False), place(node, end=True)
                yield Mutant(module, node.lineno, begin, end, f"({source[begin:end].decode()} + 1)")
            case _:
                pass


def tests_of(module: Path) -> list[str]:
    """The unit and golden tests that mention what a module defines."""
    room = module.relative_to(PACKAGE).parts[0]
    tree = ast.parse(module.read_bytes())
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    words = re.compile(
        rf"\b({'|'.join(sorted({name for name in names if name[0] != '_'} | {module.stem}))})\b"
    )
    folders = [ROOT / "tests" / "unit" / room, ROOT / "tests" / "golden", ROOT / "tests" / "property"]
    files = [file for folder in folders for file in sorted(folder.rglob("test_*.py"))]
    of_name = [file for file in files if file.stem.removeprefix("test_") == module.stem]
    mention = [file for file in files if file not in of_name and words.search(file.read_text())]
    return [str(file) for file in (of_name + mention)[:MOST_FILES]] or [str(folders[0])]


def fate(mutant: Mutant, package: Path) -> str:
    """Try a mutant: caught, missed or timeout."""
    copy = package / mutant.module.relative_to(PACKAGE)
    source = copy.read_bytes()
    copy.write_bytes(mutant.apply(source))
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not soak and not alone",
        *tests_of(mutant.module),
    ]
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            words, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        copy.write_bytes(source)
    return "missed" if done.returncode == 0 else "caught"


def main() -> None:
    """Draw, try and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="+")
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--line", default="", help="only of lines in which this regular expression is found")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "trialwise"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        for room in given.rooms:
            try_room(room, given, package)


def try_room(room: str, given: argparse.Namespace, package: Path) -> None:
    every: list[Mutant] = []
    for module in sorted((PACKAGE / room).rglob("*.py")):
        lines = module.read_text().splitlines()
        every += [each for each in mutants(module) if re.search(given.line, lines[each.line - 1])]
    drawn = random.Random(given.seed).sample(every, min(given.sample, len(every)))
    fates: Counter[str] = Counter()
    for mutant in drawn:
        found = fate(mutant, package)
        fates[found] += 1
        line = mutant.module.read_text().splitlines()[mutant.line - 1].strip()
        where = mutant.module.relative_to(PACKAGE)
        print(f"{found} {where}:{mutant.line}: `{mutant.text}` in `{line}`", flush=True)
    figures = ", ".join(f"{count} {what}" for what, count in sorted(fates.items()))
    print(f"{room}: {len(drawn)} of {len(every)} mutants, seed {given.seed}: {figures}", flush=True)


if __name__ == "__main__":
    main()
