"""What the setup of a scheme installed here, for the ends of a real path."""

import platform
from pathlib import Path
from types import SimpleNamespace

import pytest

from trialwise.errors import PlanError
from trialwise.execution.ends.installed import folder_at
from trialwise.schemes.reading import read_scheme

SCHEME = """title = "Installed"
SETUP
needs = { programs = ["own-program", "sh"] }
[receiver]
command = "own-program receive"
[sender]
command = "own-program send"
"""


class End:
    """Answers as an end on a machine of some architecture does, and keeps what it is sent."""

    def __init__(self, architecture: str) -> None:
        self.address = SimpleNamespace(name="ssh://far")
        self.hello = {"architecture": architecture}
        self.sent: list[bytes] = []

    def ask(self, op, head, body=b""):
        self.sent += [body] * bool(body)
        answer = (
            {"there": bool(self.sent), "path": "/far"} if op == "program" else {"path": str(head["programs"])}
        )
        return SimpleNamespace(head=answer)


@pytest.fixture
def scheme(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "trialwise/bin").mkdir(parents=True)
    (tmp_path / "trialwise/bin/own-program").write_bytes(b"own")
    (tmp_path / "trialwise/bin/other").write_bytes(b"another scheme's")

    def read(setup: str = 'setup = "make"'):
        file = tmp_path / "installed.toml"
        file.write_text(SCHEME.replace("SETUP", setup))
        return read_scheme(file)

    return read


def test_what_was_made_for_another_processor_is_refused(scheme):
    end = End("another")
    with pytest.raises(
        PlanError, match=f"was set up here for {platform.machine()}, and that machine is another"
    ):
        folder_at(end, scheme())
    assert not end.sent


def test_programs_of_the_scheme_alone_are_sent_and_once(scheme):
    end = End(platform.machine())
    first = folder_at(end, scheme())
    assert end.sent == [b"own"]
    assert "own-program" in first
    assert folder_at(end, scheme()) == first
    assert end.sent == [b"own"]


def test_a_scheme_without_setup_sends_nothing(scheme):
    assert folder_at(End("another"), scheme("")) is None
