"""Change one operator, number or condition of a module, and see whether the tests of that module notice: mutation testing by sample.

`python tests/mutants.py ROOM… [--sample N] [--skip N] [--seed SEED] [--line PATTERN] [--with FILE…]` draws N mutants of each room
(statistics, store, …) at random and says which the tests let pass. A mutant is tried in a copy of the package; its tests are those of
the room's unit and property tests that execute its line, the quickest first. Which these are is collected once, with coverage.py
(`pip install coverage`), and kept in `.venv/mutants`. One that they let pass is tried again, with those of the room's unit and system
tests (and of FILE…) that execute the very expression in a process that they start, be it a worker's agent: each drawn expression of
the copy leaves a file behind when it is executed, and these tests run once with that. A mutant survives rightly where what it changes
cannot be seen: a message, a speed, an equal bound. TMPDIR must not lie below /dev, where programs do not belong to what is measured.
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
from collections.abc import Iterable, Iterator, Sequence
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
MAX_SECONDS = 60.0
"""Of tests of one mutant, when they were collected: the quickest are taken."""
ALSO = {"store": ("execution/test_extending.py", "execution/test_state.py", "execution/test_reset.py")}
"""Unit tests of other rooms that a room's tests are taken from too: the store holds what execution writes."""
SYSTEM = {
    "store": ("test_resuming.py", "test_small_disk.py"),
    "execution": (
        "test_resuming.py",
        "test_amending.py",
        "test_identity.py",
        "test_resets.py",
        "test_fresh_namespaces.py",
        "test_stopping_by_itself.py",
        "test_workers.py",
        "test_worker_troubles.py",
    ),
}
"""System tests that a room's mutants are tried with where its unit tests let them pass."""
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
    whole: tuple[int, int]
    """The bytes of the expression that it is in."""

    def apply(self, source: bytes) -> bytes:
        return source[: self.begin] + self.text.encode() + source[self.end :]


def expressions(tree: ast.AST, first: int = 1) -> Iterator[tuple[ast.AST, int]]:
    """Every node of a tree, beside the line where the statement begins that it is in."""
    for node in ast.iter_child_nodes(tree):
        inside = node.lineno if isinstance(node, ast.stmt) else min(first, getattr(node, "lineno", first))
        yield node, inside
        yield from expressions(node, inside)


def mutants(module: Path) -> Iterator[Mutant]:  # noqa: C901  a case for each kind
    """Every mutant of a module."""
    source = module.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(line: int | None, column: int | None) -> int:
        return starts[(line or 1) - 1] + (column or 0)

    def span(node: ast.expr) -> tuple[int, int]:
        return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)

    def between(left: ast.expr, right: ast.expr) -> tuple[int, int]:
        # Parentheses stay as they are: only what is no bracket or blank between two operands is replaced.
        begin, end = span(left)[1], span(right)[0]
        found = re.search(rb"[^()\s\\][^()\\]*", source[begin:end])
        begin += found.start() if found else 0
        return begin, begin + (len(found[0].rstrip()) if found else 0)

    for node, first in expressions(ast.parse(source)):
        match node:
            case ast.Compare(ops=[operator], left=left, comparators=[right]) if type(operator) in COMPARISONS:
                changed, text, line = between(left, right), COMPARISONS[type(operator)], left.lineno
            case ast.BinOp(op=operator, left=left, right=right) if type(operator) in OPERATORS:
                changed, text, line = between(left, right), OPERATORS[type(operator)], left.lineno
            case ast.BoolOp(values=[left, right, *_]):
                changed, line = between(left, right), left.lineno
                text = "or" if isinstance(node.op, ast.And) else "and"
            case ast.UnaryOp(op=ast.Not()):
                begin = span(node)[0]
                changed, text, line = (begin, begin + len("not")), "", node.lineno
            case ast.Constant(value=bool() as value):
                changed, text, line = span(node), str(not value), node.lineno
            case ast.Constant(value=int() | float()):
                begin, end = changed = span(node)
                text, line = f"({source[begin:end].decode()} + 1)", node.lineno
            case _:
                continue
        yield Mutant(module, line, first, *changed, text, span(node))


@dataclass
class Collected:
    """What tests execute."""

    seconds: dict[str, float]
    """How long each test takes."""
    lines: dict[str, dict[str, list[str]]]
    """By module and line the tests that execute it."""

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests that execute a mutant, or where it runs at import alone, those of its module."""
        by_line = self.lines.get(str(mutant.module.relative_to(ROOT)), {})
        every = {test for tests in by_line.values() for test in tests}
        reached = [
            by_line[str(line)] for line in range(mutant.first, mutant.line + 1) if str(line) in by_line
        ]
        own = {test for tests in reached for test in tests}
        return self.quickest(own or (every if reached else ()))

    def quickest(self, tests: Iterable[str]) -> list[str]:
        """As many of the tests, the quickest first, as take less than MAX_SECONDS together; one at least."""
        total, chosen = 0.0, list[str]()
        for test in sorted(tests, key=lambda test: (self.seconds.get(test, 0.0), test)):
            total += self.seconds.get(test, 0.0)
            if chosen and total > MAX_SECONDS:
                break
            chosen.append(test)
        return chosen


class Times:
    """A plug-in of pytest that times tests."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self.failed.add(report.nodeid)


class Watch(Times):
    """Tells coverage.py which test runs."""

    def __init__(self, coverage: Any) -> None:
        super().__init__()
        self.coverage = coverage

    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self.coverage.switch_context(item.nodeid)


class Witness(Times):
    """Gives each test a folder of its own, in which the expressions that are executed meanwhile leave files.

    `now` leads to the folder of the present test. What a failed test reached does not count.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.tests: list[str] = []
        self._turn("import")

    def _turn(self, name: str) -> None:
        (self.folder / name).mkdir(exist_ok=True)
        (self.folder / "next").symlink_to(name)
        (self.folder / "next").replace(self.folder / "now")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._turn(str(len(self.tests)))
        self.tests.append(item.nodeid)

    def found(self) -> dict[str, Any]:
        passed = {test: self.folder / str(n) for n, test in enumerate(self.tests) if test not in self.failed}
        return {
            "seconds": {test: self.seconds[test] for test in passed},
            "reached": {
                test: sorted(file.name for file in place.iterdir()) for test, place in passed.items()
            },
            "at_import": sorted(file.name for file in (self.folder / "import").iterdir()),
        }


def collected(room: str) -> Collected:
    """What the tests of a room execute: as it was kept, if no file has changed since."""
    kept = KEPT / f"{room}.json"
    sources = [*(PACKAGE / room).rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    newest = max(file.stat().st_mtime for file in sources)
    if not kept.exists() or kept.stat().st_mtime < newest:
        subprocess.run([sys.executable, __file__, "--collect", room], cwd=ROOT, check=True)
    return Collected(**json.loads(kept.read_text()))


def units_of(room: str) -> list[str]:
    return [f"tests/unit/{place}" for place in (room, *ALSO.get(room, ()))]


def collect(room: str) -> None:
    """Run the tests of a room once under coverage.py, and keep which of those that pass executes what."""
    import coverage

    watched = coverage.Coverage(data_file=None, include=[f"{PACKAGE}/{room}/*"], config_file=False)
    watched.start()
    watch = Watch(watched)
    properties = [
        str(file)
        for file in (ROOT / "tests" / "property").glob("test_*.py")
        if f"trialwise.{room}" in file.read_text()
    ]
    code = pytest.main([*OPTIONS, "--no-header", *units_of(room), *properties], plugins=[watch])
    watched.stop()
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.exit(f"{room}: pytest ended with {code}")
    data = watched.get_data()
    lines = {
        str(Path(file).relative_to(ROOT)): {
            str(line): [context for context in contexts if context and context not in watch.failed]
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{room}.json").write_text(json.dumps({"seconds": watch.seconds, "lines": lines}))


def with_witnesses(source: bytes, expressions: Iterable[tuple[str, Mutant]], folder: Path) -> bytes:
    """A module in which each of these expressions leaves a file of its name in `folder` when it is executed."""
    added: list[tuple[int, str]] = []
    for name, mutant in expressions:
        left = f"__import__('os').close(__import__('os').open('{folder / name}', {os.O_CREAT}))"
        added += [(mutant.whole[0], f"({left} or "), (mutant.whole[1], ")")]
    for place, text in sorted(added, reverse=True):
        source = source[:place] + text.encode() + source[place:]
    return source


def executed(
    drawn: dict[str, Mutant], package: Path, files: Sequence[str]
) -> tuple[Collected, dict[str, list[str]]]:
    """Run tests, and find how long they take, and which of them execute the expression of each mutant.

    Where it is executed at import alone, they are all of them.
    """
    folder = package.parent / "executed"
    folder.mkdir()
    copies = {mutant.module: package / mutant.module.relative_to(PACKAGE) for mutant in drawn.values()}
    sources = {module: copy.read_bytes() for module, copy in copies.items()}
    for module, copy in copies.items():
        own = [(name, mutant) for name, mutant in drawn.items() if mutant.module == module]
        copy.write_bytes(with_witnesses(sources[module], own, folder / "now"))
    words = [sys.executable, __file__, "--executed", str(folder), *files]
    subprocess.run(words, cwd=ROOT, env=environment(package), check=True, stdout=sys.stderr)
    for module, copy in copies.items():
        copy.write_bytes(sources[module])
    found = json.loads((folder / "found.json").read_text())
    shutil.rmtree(folder)
    reaching: dict[str, list[str]] = {}
    for name in drawn:
        own_tests = [test for test, reached in found["reached"].items() if name in reached]
        reaching[name] = own_tests or (list(found["seconds"]) if name in found["at_import"] else [])
    return Collected(found["seconds"], {}), reaching


def run_executed(folder: Path, files: Sequence[str]) -> None:
    """Run tests, and write down which expressions each of them executed."""
    witness = Witness(folder)
    code = pytest.main([*OPTIONS, "--no-header", *files], plugins=[witness])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.exit(f"pytest ended with {code}")
    (folder / "found.json").write_text(json.dumps(witness.found()))


def environment(package: Path) -> dict[str, str]:
    """Of tests that are to find the copy of the package."""
    return {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}


def fate(mutant: Mutant, package: Path, tests: list[str], seconds: float) -> str:
    """Try a mutant: caught (by which test), missed, timeout, or reached by no test; `seconds` are those of its tests without it."""
    if not tests:
        return "unreached"
    copy = package / mutant.module.relative_to(PACKAGE)
    source = copy.read_bytes()
    copy.write_bytes(mutant.apply(source))
    list_file = package.parent / "tests.txt"
    list_file.write_text("\n".join(tests))
    words = [sys.executable, "-m", "pytest", "-x", *OPTIONS, f"@{list_file}"]
    try:
        done = subprocess.run(
            words,
            cwd=ROOT,
            env=environment(package),
            capture_output=True,
            check=False,
            timeout=FIXED + SLOWER * seconds,
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        copy.write_bytes(source)
    said = done.stdout.decode() + done.stderr.decode()
    # 2: the module cannot be imported; 4 with these words: nor can the tests.
    if done.returncode not in (0, 1, 2) and "found no collectors" not in said:
        raise RuntimeError(said[-4000:])
    if done.returncode == 0:
        return f"missed ({len(tests)} tests)"
    found = re.search(r"^(?:FAILED|ERROR) \S+::(\w+)", said, re.MULTILINE)
    return f"caught ({found[1] if found else 'at import'})"


def main() -> None:
    """Draw, try and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="+", metavar="ROOM")
    parser.add_argument("--collect", action="store_true", help="only collect anew what the tests execute")
    parser.add_argument("--executed", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of those drawn")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--line", default="", help="only of lines in which this regular expression is found")
    parser.add_argument(
        "--with",
        nargs="+",
        default=[],
        dest="files",
        metavar="FILE",
        help="tests beside the room's system tests, for what no unit test executes",
    )
    given = parser.parse_args()
    if given.executed:
        folder, *files = given.rooms
        run_executed(Path(folder), files)
        return
    if given.collect:
        for room in given.rooms:
            collect(room)
        return
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "trialwise"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        for room in given.rooms:
            try_room(room, given, package)


def drawn_of(room: str, given: argparse.Namespace) -> tuple[dict[str, Mutant], int]:
    """The mutants of a room that are drawn, by number, and of how many."""
    every: list[Mutant] = []
    for module in sorted((PACKAGE / room).rglob("*.py")):
        lines = module.read_text().splitlines()
        every += [each for each in mutants(module) if re.search(given.line, lines[each.line - 1])]
    drawn = random.Random(given.seed).sample(every, min(given.sample, len(every)))
    return {str(number): each for number, each in enumerate(drawn) if number >= given.skip}, len(every)


def try_room(room: str, given: argparse.Namespace, package: Path) -> None:
    drawn, of = drawn_of(room, given)
    units = collected(room)
    tests = {name: units.tests_of(mutant) for name, mutant in drawn.items()}
    fates: dict[str, str] = {}

    def attempt(name: str, times: Collected) -> None:
        mutant, seconds = drawn[name], sum(times.seconds.get(test, 0.0) for test in tests[name])
        found = fate(mutant, package, tests[name], seconds)
        fates[name] = found.split()[0]
        line = mutant.module.read_text().splitlines()[mutant.line - 1].strip()
        where = mutant.module.relative_to(PACKAGE)
        print(f"{found} {where}:{mutant.line}: `{mutant.text}` in `{line}`", flush=True)

    for name in drawn:
        attempt(name, units)
    left = {name: drawn[name] for name, found in fates.items() if found in ("missed", "unreached")}
    if left and room in SYSTEM:
        files = [*units_of(room), *(f"tests/system/{file}" for file in SYSTEM[room]), *given.files]
        times, reaching = executed(left, package, files)
        for name in left:
            tests[name] = times.quickest(set(reaching[name]) - set(tests[name]))
            if tests[name]:
                attempt(name, times)
    counts = Counter(fates.values())
    figures = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"{room}: {len(drawn)} of {of} mutants, seed {given.seed}: {figures}", flush=True)


if __name__ == "__main__":
    main()
