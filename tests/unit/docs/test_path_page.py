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
FILES = {
    "FILE.trace": "1\n5\n",
    "FILE.delays": "0 10ms\n",
    "FILE.losses": "0 1%\n",
    "FILE.pattern": "0001\n",
    "FILE.rates": "0 12Mbit/s\n",
    "FILE.spans": "1500 50ms\n",
    "FILE.csv": "# trialwise.path/1 {}\ntime_ms,direction,rate_bps\n0,uplink,12000000\n0,downlink,6000000\n",
}


ELEMENTS = {kind: forms for kind, forms in _core.elements().items() if kind in LinkTable.__slots__}
EXAMPLES = [f"{kind} {example}" for kind, forms in ELEMENTS.items() for _, example, *_ in forms]


@pytest.mark.parametrize("line", LINKS + EXAMPLES)
def test_every_line_makes_a_link(tmp_path: Path, line: str):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    pairs = [(key, value) for key, _, value in (part.strip().partition(" ") for part in line.split(";"))]
    if pairs[0][0] == "queue":
        pairs.append(("rate", "12Mbit/s"))
    files = HeldFiles()
    found = _core.check_link(files.groups((tuple(pairs),), str(tmp_path)), ".", 0.056)
    assert found.elements


def test_every_kind_of_element_has_its_list():
    assert set(ELEMENTS) == set(LinkTable.__slots__)
    assert {line.split()[0] for line in LINKS} | {"queue"} == set(ELEMENTS)
    for kind, forms in ELEMENTS.items():
        told = PAGE.partition(f"<!-- elements of {kind} -->\n")[2].partition("<!-- end -->")[0]
        for _, example, _, _, settings in forms:
            assert f"- `{example}`: " in told
            assert [key for key, *_ in settings if f"  - `{key}` (" not in told] == []
