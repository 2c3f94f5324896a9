"""Answers that no worker of ours gives: the connection ends, with what came, and this process does not hang or grow."""

import json
import sys

import pytest

from trialwise.execution.workers.connection import Connection, DisconnectedError

ANSWERS = {
    "no JSON": "hello",
    "deep": "[" * 100_000,
    "no number": '{"id": 1, "bytes": "many"}',
    "negative": '{"id": 1, "bytes": -5}',
    "much": '{"id": 1, "bytes": 1000000000000000}',
    "not asked": '{"id": 7}',
    "no id": '{"id": 1.5}',
    "no object": "[]",
    "huge": '{"id": 1, "bytes": ' + "9" * 5000 + "}",
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_is_none_ends_the_connection(answer):
    code = f"import sys,time; sys.stdin.readline(); print({json.dumps(answer)}, flush=True); time.sleep(60)"
    connection = Connection([sys.executable, "-c", code], b"")
    try:
        with pytest.raises(DisconnectedError, match="something else") as ended:
            connection.ask("hello", patience=20)
        assert len(str(ended.value)) < 200
    finally:
        connection.close()


def test_a_line_without_an_end_is_given_up():
    code = "import sys; sys.stdin.readline()\nwhile True: sys.stdout.write('x' * (1 << 20))"
    connection = Connection([sys.executable, "-c", code], b"")
    try:
        with pytest.raises(DisconnectedError, match="without an end"):
            connection.ask("hello", patience=60)
    finally:
        connection.close()
