"""Commands that run in the process of the tests."""

import pytest


@pytest.fixture
def trialwise(capfd):
    from trialwise.cli.main import app

    def run(*words):
        code = app([*map(str, words)], exit_on_error=False, result_action="return_value")
        return code, *capfd.readouterr()

    return run
