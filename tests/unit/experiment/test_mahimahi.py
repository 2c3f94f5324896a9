"""Mahimahi's words as links, and what mahimahi would refuse."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialwise import _core
from trialwise.cli.path import _plan
from trialwise.errors import PlanError
from trialwise.experiment.mahimahi import LinkLog, Shells, is_shell, read_shells
from trialwise.experiment.reading import read_experiment
from trialwise.experiment.trials import PathSettings, PathTrial, path_table


def read(text: str) -> Shells:
    return read_shells(shlex.split(text))


WALKTHROUGH = (
    "mm-delay 28 mm-loss uplink .004 mm-link UP DOWN --uplink-queue=droptail "
    "--uplink-queue-args=packets=50 --uplink-log=up.log -- iperf3 -c 1.2.3.4"
)


def test_packets_meet_the_shells_from_the_inside_out_and_back():
    found = read(WALKTHROUGH)
    assert found.uplink == (
        (("rate", "trace:UP,bytes=mahimahi"), ("queue", "droptail:packets=50")),
        (("loss", "0.004"),),
        (("delay", "28ms"),),
    )
    assert found.downlink == (
        (("delay", "28ms"),),
        (("rate", "trace:DOWN,bytes=mahimahi"), ("queue", "infinite")),
    )
    link = tuple(shlex.split(WALKTHROUGH)[5:])
    assert link[0] == "mm-link"
    assert found.logs == (LinkLog("uplink", "up.log", "UP", "droptail [packets=50]", 0, link),)
    assert found.command == ("iperf3", "-c", "1.2.3.4")
    assert (found.once, found.notes) == (False, ())


@pytest.mark.parametrize("words", ["mm-webreplay dir curl x", "mm-delay 5 mm-proxyreplay dir curl"])
def test_a_shell_that_is_not_understood_and_not_there_is_named(words, monkeypatch, tmp_path):
    first, *_ = shlex.split(words.removeprefix("mm-delay 5 "))
    with pytest.raises(
        PlanError, match=f"{first}: this is none of mahimahi's shells that are understood"
    ) as found:
        _plan(None, ({}, {}), shlex.split(words))
    assert "mm-delay" in found.value.hint
    program = tmp_path / first
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _plan(None, ({}, {}), shlex.split(words)).command[0] == first


def test_any_order_and_depth():
    found = read("mm-link A B -d d1 -- mm-link C D -u u2 -d d2 -- mm-delay 1 mm-delay 2 cmd")
    assert [group[0][1] for group in found.uplink] == [
        "2ms", "1ms", "trace:C,bytes=mahimahi", "trace:A,bytes=mahimahi",
    ]  # fmt: skip
    assert {(log.direction, log.path, log.trace, log.group) for log in found.logs} == {
        ("downlink", "d1", "B", 0), ("uplink", "u2", "C", 2), ("downlink", "d2", "D", 1),
    }  # fmt: skip
    assert found.command == ("cmd",)


def test_an_outer_link_takes_the_options_of_an_inner_one_unless_told_apart():
    # getopt permutes, and the last of two wins.
    found = read("mm-link A B -d d1 mm-link C D -u u2 -d d2 mm-delay 1 cmd")
    assert [group[0][1] for group in found.downlink] == [
        "trace:B,bytes=mahimahi", "trace:D,bytes=mahimahi", "1ms",
    ]  # fmt: skip
    assert [(log.path, log.trace) for log in found.logs] == [("u2", "A"), ("d2", "B")]


@pytest.mark.parametrize(
    ("text", "way", "pair"),
    [
        ("mm-loss downlink 0.5 x", "downlink", ("loss", "0.5")),
        ("mm-loss uplink 1e-3 x", "uplink", ("loss", "0.001")),
        ("mm-onoff uplink 5 0.25 x", "uplink", ("outage", "exponential:on=5s,off=0.25s")),
        ("mm-intermittent downlink 1.5 2 x", "downlink", ("outage", "fixed:on=1.5s,off=2s")),
    ],
)
def test_shells_of_one_way(text: str, way: str, pair: tuple[str, str]):
    found = read(text)
    assert getattr(found, way) == ((pair,),)
    assert getattr(found, {"uplink": "downlink", "downlink": "uplink"}[way]) == ()
    assert found.command == ("x",)


@pytest.mark.parametrize(
    ("arguments", "queue", "shown"),
    [
        ("droptail --uplink-queue-args=packets=50", "droptail:packets=50", "droptail [packets=50]"),
        (
            "drophead --uplink-queue-args='packets=50, bytes=75000'",
            "drophead:bytes=75000,packets=50",
            "drophead [bytes=75000, packets=50]",
        ),
        (
            "codel --uplink-queue-args=packets=100,target=50,interval=100",
            "codel-mahimahi:packets=100,target=50ms,interval=100ms",
            "codel [packets=100, target=50, interval=100]",
        ),
        (
            "pie --uplink-queue-args=qdelay_ref=20,max_burst=100,bytes=90000",
            "pie-mahimahi:bytes=90000,target=20ms,max_burst=100ms",
            "pie [bytes=90000, qdelay_ref=20, max_burst=100]",
        ),
        ("infinite", "infinite", "infinite"),
    ],
)
def test_queues(arguments: str, queue: str, shown: str):
    found = read(f"mm-link UP DOWN --uplink-log=x --uplink-queue={arguments} -- cmd")
    assert dict(found.uplink[0])["queue"] == queue
    assert found.logs[0].queue == shown
    assert dict(found.downlink[0])["queue"] == "infinite"


def test_every_link_that_comes_out_can_be_made(tmp_path: Path):
    (tmp_path / "UP").write_text("1\n")
    (tmp_path / "DOWN").write_text("0\n3\n")
    texts = [
        WALKTHROUGH,
        "mm-onoff uplink 5 .5 mm-intermittent downlink 1 2 mm-link UP DOWN --once",
        "mm-link UP DOWN --uplink-queue=codel --uplink-queue-args=packets=9,target=5,interval=100",
        "mm-link UP DOWN --downlink-queue=pie --downlink-queue-args=packets=9,qdelay_ref=5,max_burst=100",
        "mm-delay 0 mm-loss uplink 0",
    ]
    for text in texts:
        found = read(text)
        for groups in (found.uplink, found.downlink):
            assert len(_core.check_link(groups, tmp_path, 0.056).elements) == len(groups)
    walk = read(WALKTHROUGH)
    described = _core.check_link(walk.uplink, tmp_path)
    assert (described.elements, described.base_delay, described.capacity) == (
        ["rate", "loss", "delay"],
        0.028,
        12_032_000,
    )


def test_options_stand_anywhere_and_in_all_spellings():
    for text in (
        "mm-link --once UP DOWN -u up.log -d down.log cmd a",
        "mm-link UP --uplink-log up.log DOWN -ddown.log --once cmd a",
        "mm-link UP DOWN --once --uplink-l=up.log --downlink-log=down.log -- cmd a",
        "mm-link --once -u up.log -d down.log -- UP DOWN cmd a",
    ):
        found = read(text)
        assert found.command == ("cmd", "a"), text
        assert {(log.direction, log.path) for log in found.logs} == {
            ("uplink", "up.log"),
            ("downlink", "down.log"),
        }
        assert found.once
        assert dict(found.uplink[0])["rate"] == "trace:UP,bytes=mahimahi,repeat=no"


def test_meters_are_noted_and_change_nothing():
    found = read("mm-meter --meter-uplink -- mm-link UP DOWN --meter-all -- cmd")
    assert found.uplink == read("mm-link UP DOWN -- cmd").uplink
    assert [note.partition(" shows")[0] for note in found.notes] == ["mm-meter:", "mm-link: --meter-all"]


def test_without_a_command_there_is_none():
    assert read("mm-delay 28").command == ()
    assert read("mm-delay 28 -- cmd -x").command == ("cmd", "-x")


def test_shells_are_told_from_other_words():
    assert is_shell("mm-link")
    assert not is_shell("mm-webrecord")


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("", "nothing: this is none of mahimahi's shells", "mm-delay, mm-loss"),
        ("iperf3", "iperf3: this is none", "mm-delay, mm-loss"),
        ("mm-delay", "mm-delay: there is not a whole number of milliseconds", "mm-delay 28"),
        ("mm-delay 28.5 x", "`28.5` is not a whole number", "mm-delay 28"),
        ("mm-delay -3 x", "`-3` is not a whole number", "mm-delay 28"),
        ("mm-loss up .1 x", "`up` is not uplink or downlink", "mm-loss uplink .004"),
        ("mm-loss uplink 1.5 x", "`1.5` is not a share", "mm-loss uplink .004"),
        ("mm-loss uplink -1 x", "`-1` is not a share", "mm-loss uplink .004"),
        ("mm-loss uplink", "there is not a share", "mm-loss uplink .004"),
        ("mm-onoff uplink 5", "there is not a time in seconds", "mm-onoff uplink 5 1"),
        ("mm-link UP", "`UP` is not the traces of both ways", "mm-link UP.trace DOWN.trace"),
        ("mm-link UP DOWN iperf3 -c x", "unknown option -c", "after `--`"),
        ("mm-link UP DOWN --uplink-log", "--uplink-log needs a value", "--uplink-log=VALUE"),
        ("mm-link UP DOWN --uplink", "unknown option --uplink", "after `--`"),
        (
            "mm-link UP DOWN --uplink-queue=red",
            "--uplink-queue=red: there is no such queue",
            "infinite, droptail",
        ),
        ("mm-link UP DOWN --uplink-queue=droptail", "droptail needs packets or bytes", "packets=100"),
        (
            "mm-link UP DOWN --uplink-queue=droptail --uplink-queue-args=packets=0",
            "needs packets or bytes",
            "100",
        ),
        (
            "mm-link UP DOWN --downlink-queue=codel --downlink-queue-args=packets=5,target=5",
            "codel needs interval above 0",
            "packets=100,target=20,interval=20",
        ),
        (
            "mm-link UP DOWN --uplink-queue-args=packets=5",
            "the infinite queue takes none",
            "--uplink-queue=droptail",
        ),
        ("mm-link a,b DOWN", "the name of the trace a,b has a comma", "rename"),
    ],
)
def test_what_mahimahi_would_refuse(text: str, problem: str, hint: str):
    with pytest.raises(PlanError) as refusal:
        read(text)
    assert problem in refusal.value.message
    assert hint in str(refusal.value.hint)


WORD = st.sampled_from(
    [
        "mm-delay", "mm-loss", "mm-link", "mm-onoff", "mm-intermittent", "mm-meter", "uplink", "downlink", "28", ".5", "1e400",
        "--", "-", "--once", "-u", "-dx", "--uplink-queue=codel", "--uplink-queue-args=packets=1", "--=", "---", "x", "",
    ]
)  # fmt: skip


@given(st.lists(WORD | st.text(max_size=6), max_size=12))
def test_no_words_do_anything_but_mean_a_link_or_be_refused(words: list[str]):
    with contextlib.suppress(PlanError):
        found = read_shells(words)
        assert set(found.command) <= set(words)
        assert len(found.uplink) + len(found.downlink) > 0 or found.notes


@pytest.mark.parametrize("shell", ["mm-onoff", "mm-intermittent"])
@pytest.mark.parametrize("on", ["0", "0.0", "1e-13", "0.5", "1000000.0", "1e9"])
@pytest.mark.parametrize("off", ["0", "0.0", "1e-13", "0.5", "1000000.0", "1e9"])
def test_every_legal_time_of_an_outage_makes_a_link(shell: str, on: str, off: str):
    text = f"{shell} uplink {on} {off} cmd"
    if float(on) < 1e-12 > float(off):
        with pytest.raises(PlanError, match=f"{shell}: on and off are both 0"):
            read(text)
        return
    found = read(text)
    assert _core.check_link(found.uplink, ".", 0.0).elements == (
        [] if float(off) < 1e-12 else ["loss"] if float(on) < 1e-12 else ["outage"]
    )
    assert found.command == ("cmd",)


@pytest.mark.parametrize("share", ["0", "0.", ".0", "1e-13", "0.5", "0.9999999999999", "1", "1.0", "1e0"])
def test_every_legal_share_of_loss_makes_a_link(share: str):
    found = read(f"mm-loss downlink {share} cmd")
    assert _core.check_link(found.downlink, ".", 0.0).elements == ["loss"]
    assert (found.downlink == ((("loss", "pattern:1"),),)) is (float(share) > 0.99)


@pytest.mark.parametrize("delay", ["0", "000", "999999999", "0000000000000028"])
def test_every_delay_below_eleven_days_makes_a_link(delay: str):
    found = read(f"mm-delay {delay} cmd")
    assert _core.check_link(found.uplink, ".", 0.0).base_delay == int(delay) / 1000


def test_what_is_too_large_is_said_in_mahimahis_words():
    with pytest.raises(PlanError, match="mm-delay: `1000000000` is not a delay below"):
        read("mm-delay 1000000000 cmd")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mA\n\nm]-delay"], r"mA\x0a\x0am]-delay: this is none of mahimahi's shells"),
        (["mm-link", "--uplinA\n\nk-queue=droptail"], r"mm-link: unknown option --uplinA\x0a\x0ak-queue"),
        (["mm-loss", "up\x1b[31m", "0.1"], r"mm-loss: `up\x1b[31m` is not uplink or downlink"),
    ],
)
def test_words_with_line_ends_and_escapes_are_refused_in_one_line(words: list[str], said: str):
    with pytest.raises(PlanError) as refused:
        read_shells(words)
    assert refused.value.message.startswith(said)
    assert "\n" not in refused.value.message + (refused.value.hint or "")


# A path of an experiment


def experiment_with(path: str, folder: Path) -> Path:
    file = folder / "experiment.toml"
    file.write_text(
        '[experiment]\nname = "e"\nseed = 1\n[factors]\nscheme = ["udp-cubic"]\n'
        '[trial]\nkind = "path"\nengine = "simulated"\nscheme = "{scheme}"\nruntime = "5s"\n'
        f"[trial.path]\n{path}\n[metrics.throughput]\n[design]\nseries = 1\nrounds = 2\n"
    )
    return file


def test_a_path_in_mahimahis_words_is_what_the_command_makes_of_them(tmp_path: Path):
    words = WALKTHROUGH.partition(" --uplink-log")[0]
    experiment = read_experiment(experiment_with(f'mahimahi = "{words}"\nmtu = 1400', tmp_path))
    assert isinstance(experiment.trial, PathTrial)
    path = experiment.trial.path
    assert isinstance(path, PathSettings)
    found = read(words)
    assert (path.uplink, path.downlink, path.mtu) == (found.uplink, found.downlink, 1400)
    assert path_table(path) == {"mahimahi": words, "mtu": 1400}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ('mahimahi = "mm-delay x"', "`x` is not a whole number of milliseconds"),
        ('mahimahi = "mm-delay 28 -- ls"', "ls: a command inside the path"),
        ('mahimahi = "mm-link a b --uplink-log=x"', "--uplink-log: every trial keeps a log"),
        ('mahimahi = "mm-link a b --once"', "--once: a trial ends with its runtime"),
        ('mahimahi = "mm-delay \'28"', "No closing quotation"),
        ('mahimahi = "mm-delay 28"\ndelay = "3ms"', "delay stands beside mahimahi"),
        ('mahimahi = "mm-delay 28"\nuplink = { loss = "1%" }', "uplink stands beside mahimahi"),
    ],
)
def test_words_that_make_no_path_of_an_experiment(path: str, said: str, tmp_path: Path):
    with pytest.raises(PlanError, match=said) as found:
        read_experiment(experiment_with(path, tmp_path))
    assert "\n" not in found.value.message.strip()
