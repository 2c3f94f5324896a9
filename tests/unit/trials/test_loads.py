"""Loads as people write them, and the words of schemes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trialwise.errors import PlanError
from trialwise.schemes.library import scheme_named
from trialwise.trials.commands import command_words
from trialwise.trials.loads import parse_load

VALUES = {"peer": "P", "port": 5201, "time": "9", "report": "R", "directory": "D", "seed": 1, "mtu": 1500}


@pytest.mark.parametrize(
    ("text", "amount", "ends", "lasts"),
    [
        ("bulk", "", False, True),
        ("rate:5Mbit/s", "5000000", False, True),
        ("rate:1.5Gbps", "1500000000", False, True),
        ("bytes:10MB", "10000000", True, False),
        ("bytes:10 KiB", "10240", True, False),
        ("requests:request=200B,response=10kB", "request=200B,response=10kB", False, True),
        ("requests:request=1,response=2,count=3", "request=1,response=2,count=3", True, False),
        ("flows:poisson,rate=1/s,sizes=fixed:1kB", "", True, True),
        ("flows:poisson,rate=1/s,sizes=fixed:1kB,for=1s", "", True, False),
    ],
)
def test_what_a_load_is(text, amount, ends, lasts):
    load = parse_load(text, Path())
    assert (load.amount, load.ends, load.lasts) == (amount, ends, lasts)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bulky", "write one of bulk, rate"),
        ("bulk:1", "is not a valid load"),
        ("rate:5", "unit is missing"),
        ("rate:5MB/s", "is not a rate: unknown unit `MB/s`"),
        ("rate:0Mbit/s", "above 0"),
        ("bytes:-1", "is not a size"),
        ("bytes:", "is not a size"),
        ("requests:request=1", "response is missing"),
        ("requests:request=1,response=2,size=3", "no key 'size'"),
    ],
)
def test_what_is_no_load_is_said(text, said):
    with pytest.raises(PlanError) as refused:
        parse_load(text, Path())
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "load", "words"),
    [
        ("iperf3-cubic", "bulk", ["--time", "9"]),
        ("iperf3-cubic", "rate:5Mbit/s", ["--time", "9", "--bitrate", "5000000"]),
        ("iperf3-cubic", "bytes:10MB", ["--bytes", "10000000"]),
        ("cubic", "bytes:10MB", ["--load", "bytes:10000000B"]),
        ("udp-fixed", "rate:5Mbit/s", ["--congestion", "fixed-rate:5000000bit/s"]),
    ],
)
def test_the_words_that_ask_for_a_load(name, load, words):
    scheme = scheme_named(name)
    asks = scheme.sender if "{load}" in " ".join(scheme.sender.command) else scheme.receiver
    found = command_words(asks.command, scheme, parse_load(load, Path()), VALUES)
    assert " ".join(words) in " ".join(found)
    if name == "cubic":
        assert found[:5] == [sys.executable, "-m", "trialwise.schemes.flow", "tcp", "send"]


def test_words_inside_a_word():
    scheme = scheme_named("dctcp")
    found = command_words(scheme.receiver.command, scheme, parse_load("bulk", Path()), VALUES)
    assert found[:2] == ["sh", "-c"]
    assert f"exec {sys.executable} -m trialwise.schemes.flow tcp receive --port 5201" in found[2]
    quic = scheme_named("ngtcp2-reno")
    prepare = command_words(quic.prepare or (), quic, parse_load("bytes:1MB", Path()), VALUES)
    assert prepare[2].endswith("truncate --size 1000000 file")


def test_a_load_that_a_scheme_does_not_know():
    scheme = scheme_named("udp-fixed")
    with pytest.raises(PlanError, match="knows no load 'bulk'") as refused:
        command_words(scheme.sender.command, scheme, parse_load("bulk", Path()), VALUES)
    assert refused.value.hint == "it knows: rate"
