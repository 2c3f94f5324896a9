"""Without the packages of an extra: everything that does not need it works, and what needs it says how to get it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from trialwise import extras
from trialwise.errors import PlanError

ROOT = Path(__file__).parents[2]
HIDDEN = """
import sys
sys.modules.update(dict.fromkeys({names}))  # as if none were installed
sys.argv[0] = "trialwise"
from trialwise.cli.main import main
main()
"""


def without(extra: str, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program where Python finds no package of an extra."""
    code = HIDDEN.format(names=list(extras.MODULES[extra]))
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True, check=False
    )


def test_printed_figures_say_which_extra_holds_what_they_need(tmp_path: Path) -> None:
    (tmp_path / "a.trace").write_text("1\n2\n4\n")
    done = without("print", "trace", "plot", "a.trace", "--out", "a.svg", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'trialwise[print]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "a.svg").exists()


BEFORE = {
    "ab": ("ab", "true", "true", "--export", "a.svg"),
    "profile": ("profile", "no.csv", "--plot", "a.png"),
    "report": ("report", "no.csv", "--pdf", "figures"),
    "simulate": ("simulate", "--topology", "no.txt", "--cc", "dctcp", "--load", "30%", "--plot", "a.svg"),
}


@pytest.mark.parametrize("words", BEFORE.values(), ids=BEFORE)
def test_what_cannot_be_drawn_is_refused_before_anything_is_computed(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    done = without("print", *words, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'trialwise[print]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_page_says_which_extra_holds_what_serves_it(tmp_path: Path) -> None:
    done = without("serve", "serve", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'trialwise[serve]'" in done.stderr


def test_a_missing_module_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "zstandard" else object())
    with pytest.raises(PlanError, match=r"no zstandard\n.*pip install 'trialwise\[zstd\]'"):
        extras.module_of("zstd", "zstandard", "a.tar.zst needs zstandard")
    assert extras.module_of("print", "json", "this needs json").loads("1") == 1


def test_extras_bring_the_modules_that_are_asked_of_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra, modules in extras.MODULES.items():
        brought = {re.split("[><=]", line)[0] for line in project["optional-dependencies"][extra]}
        assert set(modules.values()) == brought, extra


def test_the_script_of_pages_is_the_one_that_vl_convert_bundles() -> None:
    vl_convert = pytest.importorskip("vl_convert")
    script = Path(extras.__file__).with_name("report") / "vega" / "vega.js"
    if vl_convert.__version__.partition(".post")[0] != "1.9.0":
        pytest.skip("another version of vl-convert than constraints.txt names")
    assert script.read_text(encoding="utf-8") == vl_convert.javascript_bundle(None)
