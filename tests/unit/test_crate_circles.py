"""Modules of a crate that use each other in a circle: none but those that are listed, and the list only shrinks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[2] / "crates"
CIRCLES: dict[str, list[set[str]]] = {
    "capture": [{"capture", "points"}, {"headers", "ip", "radiotap"}],
    "collector": [{"counters", "status"}],
    "protocol": [{"report", "sender"}],
    "simulator": [{"fabric", "paths"}, {"flow", "routing"}],
    "utp": [{"error", "library", "options", "program", "report"}],
}
"""For each crate the sets of modules, below its root, that use each other."""

_TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", re.DOTALL)
_COMMENT = re.compile(r"//.*")
_PATH = re.compile(r"\bcrate::(?:(\w+)|\{([^;]*?)\};)", re.DOTALL)
_FIRST = re.compile(r"(?:^|,)\s*(\w+)(?=\s*(?:::|,|$))")


def uses(source: Path) -> dict[str, set[str]]:
    """Map each module below the root of a crate to the others that it uses; its tests do not count."""
    modules = {path.stem for path in source.iterdir() if path.suffix == ".rs" or path.is_dir()}
    modules -= {"lib", "main"}
    found: dict[str, set[str]] = {module: set() for module in modules}
    for file in source.rglob("*.rs"):
        place = file.relative_to(source).parts
        module = place[0].removesuffix(".rs")
        if module in modules and file.name not in {"tests.rs", "testing.rs"}:
            text = _COMMENT.sub("", _TESTS.sub("", file.read_text()))
            for name, several in _PATH.findall(text):
                found[module] |= {name} if name else set(_FIRST.findall(several))
    return {module: (used & modules) - {module} for module, used in found.items()}


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components of more than one module."""

    def reached(start: str) -> set[str]:
        seen, waiting = set[str](), [start]
        while waiting:
            for used in graph[waiting.pop()] - seen:
                seen.add(used)
                waiting.append(used)
        return seen

    reach = {module: reached(module) for module in graph}
    found: list[set[str]] = []
    for module in sorted(graph):
        circle = {other for other in reach[module] if module in reach[other]}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return found


ALL = sorted(path.parent.name for path in CRATES.glob("*/src"))


@pytest.mark.parametrize("crate", ALL)
def test_modules_use_each_other_in_no_further_circle(crate: str):
    assert circles(uses(CRATES / crate / "src")) == CIRCLES.get(crate, [])


def test_a_circle_is_found(tmp_path: Path):
    for name, text in {
        "a.rs": "use crate::b::Thing;\n",
        "b/mod.rs": "mod inner;\n",
        "b/inner.rs": "use crate::{c, d::Other};\n",
        "c.rs": "//! [`crate::a`]\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n",
        "d.rs": "fn f() { crate::a::g() }\n",
        "lib.rs": "mod a;\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert uses(tmp_path) == {"a": {"b"}, "b": {"c", "d"}, "c": set(), "d": {"a"}}
    assert circles(uses(tmp_path)) == [{"a", "b", "d"}]
