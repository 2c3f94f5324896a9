"""Ctrl-C before a command is in charge of it."""

import signal
import subprocess
import sys
import time

import pytest

from trialwise.cli import main as command_line


def pressed_while_compiled_code_imports(*_: object, **__: object) -> None:
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt as error:
        raise ValueError("the compiled code's own words") from error


@pytest.fixture(autouse=True)
def _handler(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["trialwise", "doctor"])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hooks = sys.unraisablehook, sys.excepthook
    yield
    sys.unraisablehook, sys.excepthook = hooks
    signal.signal(signal.SIGINT, before)


def test_control_c_ends_with_130_also_where_an_import_made_another_error_of_it(monkeypatch):
    monkeypatch.setattr(command_line, "app", pressed_while_compiled_code_imports)
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 130


class Finalized:
    """Its finalizer is pressed upon, and cannot raise."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_control_c_ends_with_130_also_where_it_could_not_be_raised(monkeypatch):
    def app(*_: object, **__: object) -> None:
        Finalized()
        for _ in range(1000):
            time.sleep(0.01)

    monkeypatch.setattr(command_line, "app", app)
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 130


SOBOL = """
import ast, signal, sys, time
sys.argv = ["trialwise", "tilt"]
from scipy.stats import qmc
from trialwise.cli import main as command_line

def press(*_):
    ast.literal_eval = literal_eval
    signal.raise_signal(signal.SIGINT)

def app(*_, **__):
    ast.literal_eval = press
    qmc.Sobol(1)
    for _ in range(1000):
        time.sleep(0.01)

literal_eval = ast.literal_eval
command_line.app = app
command_line.main()
"""
"""Ctrl-C while SciPy reads its table of Sobol numbers, in a function of Cython that cannot raise."""


def test_control_c_is_not_lost_in_the_table_of_sobol_numbers():
    done = subprocess.run([sys.executable, "-c", SOBOL], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


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
