"""Every congestion control that is registered (`crates/congestion/src/laws.rs`) is known wherever one can be named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from in_process import trialwise
from trialwise import _core
from trialwise.schemes.library import SHIPPED, read_file

ROOT = Path(__file__).parents[2]
ALL = _core.simulation_controllers()
PATHS = dict(_core.path_controllers())
SHAPE = [
    "--topology",
    "dumbbell:2x2,10Gbit/s,1us",
    "--load",
    "10%",
    "--sizes",
    "fixed:5kB",
    "--duration",
    "100us",
]
LINK = [[("rate", "12Mbit/s"), ("delay", "5ms"), ("queue", "droptail:packets=100")]]


def written(name: str) -> str:
    return f"{name}:2Mbit/s" if PATHS[name] else name


def test_those_of_paths_are_simulated_too_but_for_halves_at_the_receiver(tmp_path: Path):
    for name in set(PATHS) - set(ALL):
        refused = trialwise("simulate", *SHAPE, "--cc", name, cwd=tmp_path)
        assert refused.returncode == 2
        assert f"{name} needs receivers that forecast or answer at a pace" in refused.stderr
        assert "simulate a path, or take one of dctcp" in refused.stderr
    assert {"cubic", "copa", "verus"} < set(ALL) & set(PATHS)


@pytest.mark.parametrize("name", ALL)
def test_it_is_simulated_and_its_settings_are_known(tmp_path: Path, name: str):
    assert trialwise("simulate", *SHAPE, "--cc", name, cwd=tmp_path).returncode == 0
    refused = trialwise("simulate", *SHAPE, "--cc", name, "--set", "nonsense=1", cwd=tmp_path)
    assert refused.returncode == 2
    assert f"it has {', '.join(_core.controller_parameters(name))};" in refused.stderr


@pytest.mark.parametrize("name", PATHS)
def test_it_sends_over_simulated_paths(tmp_path: Path, name: str):
    found = _core.simulate_path(
        LINK, LINK, [(written(name), "bulk", "uplink", 0.0, 1.0)], directory=tmp_path, seed=1
    )
    assert found is not None


@pytest.mark.parametrize("name", PATHS)
def test_a_scheme_of_it_ships(name: str):
    (scheme,) = (
        scheme
        for file in SHIPPED.glob("udp-*.toml")
        if (scheme := read_file(file)).simulated is not None
        and scheme.simulated.congestion.replace("-", "_").split(":")[0] == name
    )
    commands = " ".join(scheme.sender.command).replace("-", "_")
    assert f"__congestion {name}" in commands


@pytest.mark.parametrize("name", ALL)
def test_help_and_documentation_name_it(tmp_path: Path, name: str):
    assert re.search(rf"\b{name}\b", trialwise("simulate", "--help", cwd=tmp_path).stdout)
    page = (ROOT / "docs/reference/simulation.md").read_text()
    listed = page.partition("<!-- controllers -->")[2].partition("<!-- end -->")[0]
    (item,) = (each for each in listed.split("\n- ") if f"`{name}`" in each.partition(":")[0])
    settings = re.findall(
        r"`(\w+)`", re.sub(r"\(.*?\)", "", item.partition("Parameters:")[2], flags=re.DOTALL)
    )
    assert settings == _core.controller_parameters(name)


@pytest.mark.parametrize("name", PATHS)
def test_help_and_documentation_of_paths_name_it(name: str):
    sentence = (ROOT / "schemas/scheme.json").read_text()
    assert re.search(rf"Controller of the UDP transport: .*\b{name}\b", sentence)
    assert f"`{written(name).split(':')[0]}" in (ROOT / "docs/reference/simulation.md").read_text()


@pytest.mark.parametrize("spelling", ["fixed_rate:1Gbit/s", "fixed-rate:1Gbit/s"])
def test_a_fixed_rate_has_one_spelling(tmp_path: Path, spelling: str):
    words = [*SHAPE, "--csv", "-"]
    other = trialwise("simulate", *words, "--cc", "fixed_rate", "--set", "rate=1Gbit/s", cwd=tmp_path)
    assert trialwise("simulate", *words, "--cc", spelling, cwd=tmp_path).stdout == other.stdout
    assert other.returncode == 0
    sent = [_sent(tmp_path, text) for text in ("fixed_rate:2Mbit/s", "fixed-rate:2Mbit/s")]
    assert sent[0] == sent[1] > 100


def _sent(folder: Path, congestion: str) -> int:
    found = _core.simulate_path(
        LINK, LINK, [(congestion, "bulk", "uplink", 0.0, 1.0)], directory=folder, seed=1
    )
    return len(found.packets.time_ns)
