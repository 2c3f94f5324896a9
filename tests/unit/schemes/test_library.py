"""The schemes that ship, scheme files of a user, and what is wrong with some."""

from __future__ import annotations

import itertools
import pwd
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest

from trialwise.errors import PlanError
from trialwise.schemes.installing import steps
from trialwise.schemes.library import SHIPPED, read_file, scheme_files, scheme_named
from trialwise.schemes.listing import list_schemes, set_up
from trialwise.schemes.needs import missing, needed, search_path
from trialwise.schemes.setup import REBOOT, SETUP, record, was_done
from trialwise.trials.flows import surroundings

SCHEME = 'title = "Mine"\n[receiver]\ncommand = "true {port}"\n[sender]\ncommand = "true {peer}"\n'
NAMES = {
    "bbr", "cubic", "dctcp", "iperf3-bbr", "iperf3-cubic", "iperf3-reno", "libutp-ledbat", "ngtcp2-bbr", "ngtcp2-bbr2",
    "ngtcp2-cubic", "ngtcp2-reno", "reno", "udp-allegro", "udp-bbr3", "udp-c4", "udp-cellular", "udp-copa", "udp-cubic", "udp-fixed",
    "udp-gcc", "udp-greg", "udp-ledbat", "udp-newreno", "udp-prague", "udp-saturator", "udp-scream",
    "udp-scream2", "udp-vivace", "udp-vivace-loss", "vegas",
    "udp-sprout", "udp-verus",
    "quiche-bbr2", "quiche-cubic", "quiche-reno", "tquic-bbr", "tquic-bbr3", "tquic-copa", "tquic-cubic",
    "bic", "cdg", "highspeed", "htcp", "hybla", "illinois", "scalable", "westwood", "yeah", "udp-remy",
    "udp-aurora", "udp-indigo",
}  # fmt: skip
NORMAL = np.eye(3)
PROTANOPIA = np.array(
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
)
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
"""Machado, Oliveira, Fernandes, IEEE TVCG 15(6), 2009, table 1 at severity 1, for linear RGB."""


def lab(color: str, vision) -> np.ndarray:
    """CIELAB (D65) of a colour as somebody with this vision sees it."""
    encoded = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])
    x, y, z = (
        np.cbrt(part) if part > 0.008856 else 7.787 * part + 16 / 116
        for part in to_xyz @ np.clip(vision @ linear, 0, 1) / [0.9505, 1, 1.0888]
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_every_scheme_that_ships_can_be_read():
    files = scheme_files()
    assert set(files) >= NAMES, "a name that shipped once is one for good"
    titles = {read_file(path).title for path in files.values()}
    assert len(titles) == len(files)


def test_every_scheme_that_ships_says_its_licence_and_no_two_stand_for_the_same():
    found = [read_file(path) for path in scheme_files().values()]
    assert [scheme.name for scheme in found if not scheme.licence] == []
    names = [name for scheme in found for name in (*scheme.pantheon, *scheme.nearest)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "vision", [NORMAL, PROTANOPIA, DEUTERANOPIA], ids=["all cones", "protanopia", "deuteranopia"]
)
def test_colours_can_be_told_apart(vision):
    """Few more such colours exist than there are: a scheme may have none, and figures then find one that is free among theirs."""
    colors = {name: read_file(path).color for name, path in scheme_files().items()}
    seen = {name: lab(color, vision) for name, color in colors.items() if color}
    for (one, first), (other, second) in itertools.combinations(seen.items(), 2):
        assert np.linalg.norm(first - second) > 15, (one, other)
    assert all(values[0] < 85 for values in seen.values()), "dark enough for white paper"


def test_a_users_scheme_comes_before_one_that_ships(tmp_path: Path):
    (tmp_path / "cubic.toml").write_text(SCHEME)
    assert scheme_named("cubic", [tmp_path]).title == "Mine"
    other = tmp_path / "other"
    other.mkdir()
    (other / "cubic.toml").write_text(SCHEME)
    with pytest.raises(PlanError, match="occurs twice"):
        scheme_files([tmp_path, other])
    with pytest.raises(PlanError, match="is not a directory"):
        scheme_files([tmp_path / "nowhere"])
    with pytest.raises(PlanError, match="did you mean 'udp-copa'"):
        scheme_named("udp-cop")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("title", "titel"), "titel: unknown key; did you mean title?"),
        (
            ('"true {port}"', '"true"\nredy = { line = "x" }'),
            "receiver.redy: unknown key; did you mean ready?",
        ),
        (('"true {port}"', '"true {prot}"'), "receiver.command: {prot} is unknown here"),
        (('"true {port}"', "'sh -c \"'"), "cannot be split as a shell would"),
        (('title = "Mine"', 'title = "Mine"\ncolor = "blue"'), "color: "),
        (('title = "Mine"', 'title = "Mine"\nsetup = "make {port}"'), "setup: {port} is unknown here"),
        (
            ('title = "Mine"', 'title = "Mine"\nloads = { bulk = "{amonut}" }'),
            "loads.bulk: {amonut} is unknown here",
        ),
        (('title = "Mine"', 'title = "Mine"\nprepare = "true {peer}"'), "prepare: {peer} is unknown here"),
        (
            ('"true {port}"', '"true"\nenvironment = { X = "{load}" }'),
            "receiver.environment.X: {load} is unknown here",
        ),
        (('title = "Mine"', 'title = "Mine'), "cannot be read as a scheme"),
        (('title = "Mine"', 'title = "Mine"\nloads = {}'), "loads: names no kind of load"),
        (('"true {port}"', '" "'), "receiver.command: names no program"),
        (('"true {peer}"', """ "'' x" """), "sender.command: names no program"),
        (('title = "Mine"', 'title = "Mine"\nsetup = " "'), "setup: names no program"),
        (('title = "Mine"', 'title = "Mine"\nprepare = "\\t"'), "prepare: names no program"),
        (
            ('title = "Mine"', 'title = "Mine"\nsetup = "a\\u0000"'),
            "setup: no program can be given a NUL character",
        ),
        (
            ('"true {port}"', '"true"\nenvironment = { "A=B" = "x" }'),
            "receiver.environment: 'A=B' = 'x' cannot be a variable",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, change: tuple[str, str], said: str):
    file = tmp_path / "mine.toml"
    file.write_text(SCHEME.replace(*change))
    with pytest.raises(PlanError) as refused:
        read_file(file)
    assert said in str(refused.value)
    assert str(file) in str(refused.value)


def test_a_wrong_file_does_not_hide_the_others(tmp_path: Path):
    (tmp_path / "broken.toml").write_text("title")
    (tmp_path / "wrapper.py").write_text("#!/bin/sh\necho nobody\n")
    (tmp_path / "wrapper.py").chmod(0o755)
    (tmp_path / "python2.py").write_text("#!/usr/bin/no-python2.7\n")
    (tmp_path / "python2.py").chmod(0o755)
    entries = {entry.name: entry for entry in list_schemes([tmp_path])}
    assert list(entries) == sorted({*scheme_files(), "broken", "wrapper", "python2"})
    assert "cannot be read as a scheme" in str(entries["broken"].problem)
    assert "prints sender or receiver" in str(entries["wrapper"].problem)
    assert "Pantheon's is Python 2.7" in str(entries["python2"].problem)
    assert not any("\n" in str(entry.problem) for entry in entries.values())
    assert entries["cubic"].problem is None
    assert entries["cubic"].file == str(SHIPPED / "cubic.toml")


def test_what_is_missing_says_what_to_do(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(
        SCHEME
        + '[needs]\nprograms = ["sh", "nonesuch"]\npackages = ["dash", "none"]\ncongestion = "nonesuch"\n'
    )
    scheme = scheme_named("mine", [tmp_path])
    assert missing(scheme) == (
        "no program nonesuch: apt-get install dash none",
        "the kernel has no congestion control nonesuch: modprobe tcp_nonesuch",
    )
    (step,) = steps(scheme)
    assert step.words[:3] == ("apt-get", "install", "--yes")
    assert step.words[-1] == "none"
    assert step.system


def test_what_a_setup_installs_is_found_where_it_puts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Until then, what lacks names the setup; a program in PATH comes before, and counts as set up too."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "mine.toml").write_text(
        SCHEME.replace("title", 'setup = "install tool {prefix}/bin/"\ntitle')
        + '[needs]\nprograms = ["nonesuch"]\npackages = ["dpkg"]\n'
    )
    scheme = scheme_named("mine", [tmp_path])
    assert missing(scheme) == ("no program nonesuch: trialwise schemes setup mine",)
    assert needed(scheme) == ("`dpkg`", "its setup")
    assert set_up(scheme) is False
    (step,) = steps(scheme)
    assert step.words == ("install", "tool", f"{tmp_path}/data/trialwise/bin/")
    program = tmp_path / "data/trialwise/bin/nonesuch"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    assert missing(scheme) == ()
    assert set_up(scheme) is True
    assert surroundings({"PATH": "/mine"})["PATH"].split(":")[0::4] == ["/mine", str(program.parent)]


def test_a_setup_that_ships_has_what_it_builds_from():
    """A package beside the scheme's file, with a lock."""
    found = {path.stem: read_file(path).setup for path in scheme_files().values()}
    commands = {name: shlex.split(" ".join(words)) for name, words in found.items() if words}
    folders = {
        name: words[words.index("--path") + 1].rstrip(";")
        for name, words in commands.items()
        if "--path" in words
    }
    assert set(folders) == {"quiche-bbr2", "quiche-cubic", "quiche-reno"}
    for folder in folders.values():
        package, lock = (
            tomllib.loads((SHIPPED / folder / name).read_text()) for name in ("Cargo.toml", "Cargo.lock")
        )
        wanted = package["dependencies"]["quiche"].removeprefix("=")
        assert wanted in [one["version"] for one in lock["package"] if one["name"] == "quiche"]
    assert all("--locked" in words for words in commands.values())


def test_a_user_without_a_home_has_a_search_path_too(monkeypatch: pytest.MonkeyPatch):
    """As in a container whose user is a mere number."""

    def unknown(number: int) -> pwd.struct_passwd:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert search_path("/mine").endswith("/.local/share/trialwise/bin")
    assert not was_done(SHIPPED / "cubic.toml", SETUP)


def test_a_setup_is_one_of_this_very_file_and_a_boot_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file = tmp_path / "mine.toml"
    file.write_text(SCHEME + 'setup = "make"\n')
    assert not was_done(file, SETUP)
    record(file, SETUP)
    assert was_done(file, SETUP)
    assert not was_done(file, REBOOT)
    file.write_text(SCHEME)
    assert not was_done(file, SETUP), "another file"
    record(file, REBOOT)
    assert was_done(file, REBOOT)
    (kept,) = (tmp_path / "state").rglob("*.reboot")
    kept.write_text("another boot")
    assert not was_done(file, REBOOT)
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    record(file, SETUP)
    assert not was_done(file, SETUP), "nothing can be kept there"
