"""Temporary folders: where they are, and that they go at the end of their context."""

import os

import pytest

from trialwise import temporary
from trialwise.temporary import vanishing_folder


@pytest.mark.parametrize("shell", ["/bin/sh", "/nowhere/sh"])
def test_a_folder_is_where_it_is_wanted_and_goes_with_its_context(tmp_path, monkeypatch, shell):
    monkeypatch.setattr(temporary, "_SHELL", shell)
    with vanishing_folder(".own-", within=tmp_path) as folder:
        (folder / "file").write_text("x")
        assert folder.parent == tmp_path
        assert folder.name.startswith(".own-")
    assert not list(tmp_path.iterdir())


def test_a_folder_goes_where_path_leads_to_no_program(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with vanishing_folder("own-", within=tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_process_that_was_forked_meanwhile_holds_nothing_up(tmp_path):
    reading, writing = os.pipe()
    with vanishing_folder("own-", within=tmp_path) as folder:
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)  # until the parent has left the context
            os._exit(0)
        assert folder.is_dir()
    assert not list(tmp_path.iterdir())
    os.close(writing)
    assert os.waitpid(child, 0)[1] == 0
    os.close(reading)
