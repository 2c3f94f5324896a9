"""The page on what a path can be: every line of it makes a link, and every option that the core knows stands on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trialwise import _core
from trialwise.experiment.trials import LinkTable
from trialwise.trials.held_files import HeldFiles

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "path.md").read_text()
LINKS = [line for block in re.findall(r"```link\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
SPEC = ROOT / "crates" / "link" / "src" / "spec"
FILES = {"FILE.trace": "1\n5\n", "FILE.delays": "0 10ms\n", "FILE.losses": "0 1%\n", "FILE.pattern": "0001\n"}


@pytest.mark.parametrize("line", LINKS)
def test_every_line_makes_a_link(tmp_path: Path, line: str):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    pairs = tuple((key, value) for key, _, value in (part.strip().partition(" ") for part in line.split(";")))
    files = HeldFiles()
    found = _core.check_link(files.groups((pairs,), str(tmp_path)), ".", 0.056)
    assert found.elements


def test_every_key_and_option_stands_on_the_page():
    told = "\n".join(LINKS)
    keys = set(LinkTable.__slots__)
    assert {line.split()[0] for line in LINKS} | {"queue"} == keys
    known = set[str]()
    assert {name for name, _, _ in _core.queues()} <= set(re.findall(r"queue ([a-z_-]+)", told))
    for file in ("rate", "delay", "loss", "gates"):
        text = (SPEC / f"{file}.rs").read_text()
        for listed in re.findall(r"(?:Arguments::parse|arguments)\([^&]*?&\[([^\]]*)\]", text) + re.findall(
            r"let keys = &\[([^\]]*)\]", text
        ):
            known |= set(re.findall(r'"([a-z_]+)"', listed))
    assert {"jitter", "distribution", "reorder", "loss_bad", "overhead", "phases", "burst"} <= known
    assert [word for word in sorted(known) if f"{word}=" not in told] == []
