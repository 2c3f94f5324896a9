"""The optional parts of the core, from Python, in a build with them and in one without."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from trialwise import _core, _linux
from trialwise.schemes.library import scheme_named
from trialwise.schemes.reading import Attached

FEATURES = _core.features()
UTP = [sys.executable, "-m", "trialwise.schemes.utp"]
with_bpf = pytest.mark.skipif("bpf" not in FEATURES, reason="built without: make setup FEATURES=bpf")
with_utp = pytest.mark.skipif("utp" not in FEATURES, reason="built without: make setup FEATURES=utp")


def known_to_the_kernel() -> list[str]:
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


@pytest.fixture
def permitted() -> None:
    try:
        _linux.check_congestion("vegas")
    except _linux.AttachError as error:
        pytest.skip(str(error))


def test_features_are_those_of_the_build():
    assert set(FEATURES) <= {"bpf", "utp"}


@with_bpf
def test_a_congestion_control_can_be_chosen_while_it_is_held(permitted: None):
    with _linux.attach_congestion("vegas") as held, socket.socket() as chooser:
        assert held.name == "tw_vegas"
        assert held.name in known_to_the_kernel()
        chooser.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"tw_vegas")
        chosen = chooser.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        assert chosen.rstrip(b"\0") == b"tw_vegas"
    held.close()


@pytest.mark.parametrize("call", [_linux.attach_congestion, _linux.check_congestion])
def test_an_unknown_name_is_refused_with_those_that_schemes_may_attach(call: Callable[[str], object]):
    with pytest.raises(ValueError, match="there is no kernel congestion control") as raised:
        call("cubic")
    known = str(raised.value).partition("there are ")[2].replace(" and ", ", ").split(", ")
    assert known == list(get_args(Attached))


@pytest.mark.parametrize("name", get_args(Attached))
def test_each_that_schemes_may_attach_has_a_scheme(name: str):
    scheme = scheme_named(name)
    assert (scheme.attach, scheme.licence, scheme.needs.root) == (name, "MIT OR GPL-2.0-only", True)
    assert f"--congestion tw_{name} " in " ".join(scheme.sender.command)


@with_bpf
@pytest.mark.parametrize("name", get_args(Attached))
def test_the_kernel_takes_each(name: str, permitted: None):
    with _linux.attach_congestion(name) as held:
        assert held.name in known_to_the_kernel()


@pytest.mark.skipif("bpf" in FEATURES, reason="built with bpf")
def test_a_build_without_bpf_says_how_to_have_it():
    with pytest.raises(_linux.AttachError, match="make setup FEATURES=bpf") as raised:
        _linux.attach_congestion("vegas")
    assert raised.value.reason == "not_built"
    with pytest.raises(_linux.AttachError):
        _linux.check_congestion("vegas")


@pytest.mark.skipif("utp" in FEATURES, reason="built with utp")
def test_a_build_without_utp_says_how_to_have_it():
    with pytest.raises(RuntimeError, match="make setup FEATURES=utp"):
        _linux.utp_program(["--help"])
    done = subprocess.run([*UTP, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "make setup FEATURES=utp" in done.stderr


@with_utp
def test_ledbat_carries_a_load_from_end_to_end():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        probe.bind(("::", 0))
        port = str(probe.getsockname()[1])
    with subprocess.Popen([*UTP, "receive", "--port", port], stdout=subprocess.PIPE) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == b"ready\n"
        subprocess.run([*UTP, "send", "127.0.0.1", port, "--load", "bytes:1MB"], check=True)
        receiver.send_signal(signal.SIGTERM)
    assert receiver.returncode == 0
