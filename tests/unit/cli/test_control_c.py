"""Ctrl-C before a command is in charge of it."""

import signal

import pytest

from trialwise.cli import main as command_line


def pressed_while_compiled_code_imports(*_: object, **__: object) -> None:
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt as error:
        raise ValueError("the compiled code's own words") from error


@pytest.fixture(autouse=True)
def _handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_control_c_ends_with_130_also_where_an_import_made_another_error_of_it(monkeypatch):
    monkeypatch.setattr(command_line, "app", pressed_while_compiled_code_imports)
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 130


def test_an_error_without_control_c_is_said_in_a_sentence_and_shown_on_request(monkeypatch, capsys):
    def broken(*_: object, **__: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(command_line, "app", broken)
    for asked in (False, True):
        if asked:
            monkeypatch.setenv("TRIALWISE_DEBUG", "1")
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        said = capsys.readouterr().err
        assert ended.value.code == 7
        assert "a bug (ValueError in cli/main.py:" in said
        assert ("Traceback" in said) is asked
