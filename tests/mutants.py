"""Change one operator, number or condition of a module, and see whether the tests of that module notice: mutation testing by sample.

`python tests/mutants.py ROOM… [--sample N] [--seed SEED] [--line PATTERN]` draws N mutants of each room (statistics, store, …) at
random and says which the tests let pass. A mutant is tried in a copy of the package; its tests are those of the room's unit and
property tests that execute its line, the quickest first. Which these are is collected once, with coverage.py (`pip install coverage`),
and kept in `.venv/mutants`. It survives rightly where what it changes cannot be seen: a message, a speed, an equal bound.
"""

from __future__ import annotations

import argparse
import ast
import json
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
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "trialwise"
KEPT = ROOT / ".venv" / "mutants"
FIXED = 120
"""Seconds of a clock for the start of pytest on a busy machine."""
SLOWER = 10
"""How many times as long as before, together, the tests of a mutant may take."""
MOST_SECONDS = 60.0
"""Of tests of one mutant, when they were collected: the quickest are taken."""
ALSO = {"store": ("execution/test_extending.py", "execution/test_state.py", "execution/test_reset.py")}
"""Unit tests of other rooms that a room's tests are taken from too: the store holds what execution writes."""
OPTIONS = ("-q", "-p", "no:cacheprovider", "-m", "not soak and not alone and not operating")
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
    first: int
    """The line where its statement begins, which may be an earlier one."""
    begin: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.begin] + self.text.encode() + source[self.end :]


def expressions(tree: ast.AST, first: int = 1) -> Iterator[tuple[ast.AST, int]]:
    """Every node of a tree, beside the line where the statement begins that it is in."""
    for node in ast.iter_child_nodes(tree):
        inside = node.lineno if isinstance(node, ast.stmt) else first
        yield node, inside
        yield from expressions(node, inside)


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

    def between(first: int, left: ast.expr, right: ast.expr, text: str) -> Mutant:
        # Parentheses stay as they are: only what is no bracket or blank between two operands is replaced.
        begin, end = place(left, end=True), place(right, end=False)
        found = re.search(rb"[^()\s\\][^()\\]*", source[begin:end])
        place_in, length = (found.start(), len(found[0].rstrip())) if found else (0, 0)
        return Mutant(module, left.lineno, first, begin + place_in, begin + place_in + length, text)

    for node, first in expressions(ast.parse(source)):
        match node:
            case ast.Compare(ops=[operator], comparators=[right]) if type(operator) in COMPARISONS:
                yield between(first, node.left, right, COMPARISONS[type(operator)])
            case ast.BinOp(op=operator) if type(operator) in OPERATORS:
                yield between(first, node.left, node.right, OPERATORS[type(operator)])
            case ast.BoolOp(values=[left, right, *_]):
                yield between(first, left, right, "or" if isinstance(node.op, ast.And) else "and")
            case ast.UnaryOp(op=ast.Not()):
                yield Mutant(
                    module, node.lineno, first, place(node, end=False), place(node.operand, end=False), ""
                )
            case ast.Constant(value=bool() as value):
                yield Mutant(
                    module, node.lineno, first, place(node, end=False), place(node, end=True), str(not value)
                )
            case ast.Constant(value=int() | float() as value):
                begin, end = place(node, end=False), place(node, end=True)
                yield Mutant(module, node.lineno, first, begin, end, f"({source[begin:end].decode()} + 1)")
            case _:
                pass


@dataclass
class Collected:
    """What a room's tests execute."""

    seconds: dict[str, float]
    """How long each test takes."""
    lines: dict[str, dict[str, list[str]]]
    """By module and line the tests that execute it."""

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests that execute a mutant, or where it runs at import alone, those of its module; the quickest first."""
        by_line = self.lines.get(str(mutant.module.relative_to(ROOT)), {})
        every = {test for tests in by_line.values() for test in tests}
        reached = [
            by_line[str(line)] for line in range(mutant.first, mutant.line + 1) if str(line) in by_line
        ]
        own = {test for tests in reached for test in tests}
        tests = sorted(
            own or (every if reached else ()), key=lambda test: (self.seconds.get(test, 0.0), test)
        )
        total = 0.0
        for count, test in enumerate(tests):
            total += self.seconds.get(test, 0.0)
            if total > MOST_SECONDS:
                return tests[: max(count, 1)]
        return tests


class Watch:
    """A plug-in of pytest that tells coverage.py which test runs."""

    def __init__(self, coverage: Any) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = {}

    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def collected(room: str) -> Collected:
    """What the tests of a room execute: as it was kept, if no file has changed since."""
    kept = KEPT / f"{room}.json"
    sources = [*(PACKAGE / room).rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    newest = max(file.stat().st_mtime for file in sources)
    if not kept.exists() or kept.stat().st_mtime < newest:
        subprocess.run([sys.executable, __file__, "--collect", room], cwd=ROOT, check=True)
    return Collected(**json.loads(kept.read_text()))


def collect(room: str) -> None:
    """Run the tests of a room once under coverage.py, and keep which executes what."""
    import coverage

    watched = coverage.Coverage(data_file=None, include=[f"{PACKAGE}/{room}/*"], config_file=False)
    watched.start()
    watch = Watch(watched)
    properties = [
        str(file)
        for file in (ROOT / "tests" / "property").glob("test_*.py")
        if f"trialwise.{room}" in file.read_text()
    ]
    units = [f"tests/unit/{place}" for place in (room, *ALSO.get(room, ()))]
    code = pytest.main([*OPTIONS, "--no-header", *units, *properties], plugins=[watch])
    watched.stop()
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.exit(f"{room}: pytest ended with {code}")
    data = watched.get_data()
    lines = {
        str(Path(file).relative_to(ROOT)): {
            str(line): [context for context in contexts if context]
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{room}.json").write_text(json.dumps({"seconds": watch.seconds, "lines": lines}))


def fate(mutant: Mutant, package: Path, tests: Collected) -> str:
    """Try a mutant: caught, missed, timeout, or reached by no test."""
    chosen = tests.tests_of(mutant)
    if not chosen:
        return "unreached"
    copy = package / mutant.module.relative_to(PACKAGE)
    source = copy.read_bytes()
    copy.write_bytes(mutant.apply(source))
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    patience = FIXED + SLOWER * sum(tests.seconds.get(test, 0.0) for test in chosen)
    list_file = package.parent / "tests.txt"
    list_file.write_text("\n".join(chosen))
    words = [sys.executable, "-m", "pytest", "-x", *OPTIONS, f"@{list_file}"]
    try:
        done = subprocess.run(
            words, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=patience
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        copy.write_bytes(source)
    if done.returncode not in (0, 1, 2):  # 2: the module cannot be imported
        raise RuntimeError(done.stdout.decode()[-2000:] + done.stderr.decode()[-2000:])
    return "missed" if done.returncode == 0 else "caught"


def main() -> None:
    """Draw, try and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="+", metavar="ROOM")
    parser.add_argument("--collect", action="store_true", help="only collect anew what the tests execute")
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--line", default="", help="only of lines in which this regular expression is found")
    given = parser.parse_args()
    if given.collect:
        for room in given.rooms:
            collect(room)
        return
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "trialwise"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        for room in given.rooms:
            try_room(room, given, package)


def try_room(room: str, given: argparse.Namespace, package: Path) -> None:
    tests = collected(room)
    every: list[Mutant] = []
    for module in sorted((PACKAGE / room).rglob("*.py")):
        lines = module.read_text().splitlines()
        every += [each for each in mutants(module) if re.search(given.line, lines[each.line - 1])]
    drawn = random.Random(given.seed).sample(every, min(given.sample, len(every)))
    fates: Counter[str] = Counter()
    for mutant in drawn:
        found = fate(mutant, package, tests)
        fates[found] += 1
        line = mutant.module.read_text().splitlines()[mutant.line - 1].strip()
        where = mutant.module.relative_to(PACKAGE)
        print(f"{found} {where}:{mutant.line}: `{mutant.text}` in `{line}`", flush=True)
    figures = ", ".join(f"{count} {what}" for what, count in sorted(fates.items()))
    print(f"{room}: {len(drawn)} of {len(every)} mutants, seed {given.seed}: {figures}", flush=True)


if __name__ == "__main__":
    main()
