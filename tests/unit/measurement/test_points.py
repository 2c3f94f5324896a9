"""Measurement points of Python programs, read back from the file that they stream to."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from trialwise.measurement import Client, Point


@pytest.fixture
def where(tmp_path):
    return tmp_path / "samples.txt"


def rows(path, stream):
    """The rows of one stream in OML's text: values only."""
    head, _, body = path.read_text().partition("\n\n")
    lines = [line.split("\t") for line in body.splitlines()]
    schemas = [line.split()[1:3] for line in head.splitlines() if line.startswith("schema:")]
    schemas += [line[5].split()[:2] for line in lines if line[1] == "0" and line[4] == "schema"]
    index = next(index for index, name in schemas if name == stream)
    return [line[3:] for line in lines if line[1] == index], [
        float(line[0]) for line in lines if line[1] == index
    ]


def client(where, **more):
    return Client("app", collect=f"file:{where}", **more)


def test_samples_by_order_and_by_name_come_out(where):
    with client(where) as app:
        point = app.point("p", size="uint64", rate=float, name=str, good=bool)
        assert point.inject(1, 2.5, "a\tb", True)
        assert point.inject(2, 3.5, good=False, name="c")
    assert rows(where, "app_p")[0] == [["1", "2.5", r"a\tb", "T"], ["2", "3.5", "c", "F"]]


def test_the_default_client_sends_where_the_environment_says_and_ends_with_the_program(where):
    script = "from trialwise.measurement import Point\nPoint('p', x=int).inject(7)\n"
    environment = {**os.environ, "OML_COLLECT": f"file:{where}", "OML_NAME": "node"}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    assert "sender-id: node" in where.read_text()
    assert rows(where, "c_p")[0] == [["7"]]


def test_without_a_destination_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Client("app", arguments=["prog"]) as app:
        assert app.point("p", x=int).inject(7)
    assert list(tmp_path.iterdir()) == []


def test_options_are_taken_out_of_the_command_line(where):
    words = ["prog", "--fast", "--oml-id", "n1", f"--oml-file={where}", "input"]
    Client("app", arguments=words).close()
    assert words == ["prog", "--fast", "input"]
    assert "sender-id: n1" in where.read_text()


@pytest.mark.parametrize(
    ("words", "environment", "message"),
    [
        (["--oml-nope"], {}, "--oml-nope: is not known; --oml-help lists all"),
        (["--oml-collect"], {}, "--oml-collect: needs a value"),
        (["--oml-collect", "tcp:h:x"], {}, "the port is no number"),
        ([], {"OML_COLLECT": "tcp:h:x"}, "the port is no number"),
        ([], {"OML_COLLECT": "file:x", "OML_CONFIG": "/nowhere.xml"}, "/nowhere.xml: No such file"),
    ],
)
def test_what_the_user_says_wrong_ends_the_program_with_a_message(tmp_path, words, environment, message):
    of_its_own = "client=Client(arguments=sys.argv), " if words else ""
    script = tmp_path / "measured.py"
    script.write_text(
        f"import sys\nfrom trialwise.measurement import Client, Point\nPoint('p', {of_its_own}x=int).inject(1)\n"
    )
    done = subprocess.run(
        [sys.executable, script, *words],
        env={**os.environ, **environment}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("measured.py: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("point", "field", "code", "message"),
    [
        ("p", "y", 2, 'stream "measured_p": no field "y"; the measurement point has x'),
        ("q", "x", 0, 'no measurement point "q" was declared'),
        ("p", "x", 0, ""),
    ],
)
def test_a_file_of_streams_that_does_not_fit_the_program_is_told(tmp_path, point, field, code, message):
    (tmp_path / "measured.py").write_text(
        "from trialwise.measurement import Point\nPoint('p', x=int).inject(1)\n"
    )
    (tmp_path / "streams.toml").write_text(
        f'[[collect]]\nurl = "file:rows"\nstream = [{{ point = "{point}", samples = 1, '
        f'filter = [{{ field = "{field}", operation = "last" }}] }}]\n'
    )
    done = subprocess.run(
        [sys.executable, "measured.py"],
        env={**os.environ, "OML_CONFIG": "streams.toml"}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert bool(done.stderr) == bool(message), done.stderr


def test_samples_may_be_filtered(where):
    with client(where, samples=10) as app:
        point = app.point("p", x=float)
        for value in range(20):
            point.inject(float(value))
    assert rows(where, "app_p")[0] == [
        ["4.5", "0.0", "9.0"],
        ["14.5", "10.0", "19.0"],
    ]


def test_a_batch_is_taken_whole_even_where_it_fills_the_buffer(where):
    count = 300_000
    with client(where, buffer_bytes=1 << 16) as app:
        point = app.point("p", x="int32", y="double")
        taken = point.inject_batch(
            np.arange(count), np.linspace(0, 1, count), times=np.full(count, 2e9), wait=30
        )
        assert taken == count
        app.close(30)
    values, times = rows(where, "app_p")
    assert [int(x) for x, _ in values] == list(range(count))
    assert len(set(times)) == 1


def test_what_finds_no_room_is_counted(where):
    app = client(where, buffer_bytes=1 << 16)
    point = app.point("p", x="int64")
    count = 200_000
    taken = point.inject_batch(np.zeros(count, np.int64), wait=0)
    assert taken + point.dropped == count
    report = app.close(20)
    assert report.finished
    assert len(rows(where, "app_p")[0]) + report.counters.dropped == count


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (("one",), TypeError),
        ((1, 2), TypeError),
        ((1 << 40,), OverflowError),
        ((-(1 << 31) - 1,), OverflowError),
        ((None,), TypeError),
        ((1.5,), TypeError),
        ((), TypeError),
    ],
)
def test_values_that_a_field_does_not_hold_are_refused(where, values, error):
    with client(where) as app:
        point = app.point("p", x="int32")
        with pytest.raises(error):
            point.inject(*values)


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ([[1.5]], TypeError),
        ([[1 << 40]], OverflowError),
        ([["a"]], TypeError),
        ([[1], [2]], TypeError),
    ],
)
def test_columns_that_a_field_does_not_hold_are_refused(where, columns, error):
    with client(where) as app:
        point = app.point("p", x="int32")
        with pytest.raises(error):
            point.inject_batch(*columns)


def test_columns_of_different_lengths_are_refused(where):
    with client(where) as app, pytest.raises(ValueError, match="differ in length"):
        app.point("p", x="int32", y="int32").inject_batch([1, 2], [1])


def test_names_are_checked_against_the_fields():
    point = Point("p", x=int, y=int)
    for values, named in [((), {"x": 1}), ((), {"x": 1, "z": 2}), ((1,), {"x": 1})]:
        with pytest.raises(TypeError, match="p has the fields x, y"):
            point.inject(*values, **named)


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("1st", {"x": "int32"}, "1st"),
        ("p", {"x": "int33"}, "unknown type"),
        ("p", {"x y": "int32"}, "x y"),
        ("p", {}, "field"),
    ],
)
def test_wrong_declarations_are_refused(where, name, fields, message):
    with client(where) as app, pytest.raises(ValueError, match=message):
        app.point(name, fields)


def test_a_type_that_is_none_of_ours_is_refused():
    with pytest.raises(ValueError, match="is not a field type"):
        Point("p", x=dict)


def test_blocks_and_functions_are_timed(where):
    with client(where) as app:
        point = app.point("call", seconds=float, kind=str, found=int)

        @point.timed(kind="function", found=3)
        def work():
            time.sleep(0.01)

        work()
        work()
        with point.timed(kind="block") as sample:
            sample["found"] = 4
        with pytest.raises(KeyError), point.timed(kind="raises", found=1):
            raise KeyError
    values, _ = rows(where, "app_call")
    assert [row[1:] for row in values] == [["function", "3"], ["function", "3"], ["block", "4"]]
    assert float(values[0][0]) >= 0.01


def test_metadata_names_its_subject(where):
    with client(where) as app:
        point = app.point("p", x=int)
        app.metadata("unit", "bytes", point=point, field="x")
        app.metadata("place", "lab")
        with pytest.raises(ValueError, match="no field"):
            app.metadata("unit", "s", point=point, field="y")
    text = where.read_text()
    assert ".app_p.x\tunit\tbytes" in text
    assert ".\tplace\tlab" in text


def test_a_process_forked_off_has_a_client_of_its_own(tmp_path):
    script = """
import os
from trialwise.measurement import Point
point = Point("p", x=int)
point.inject(1)
if os.fork() == 0:
    os.environ["OML_COLLECT"] = "file:child.txt"
    assert point.inject(2)
else:
    os.wait()
"""
    environment = {**os.environ, "OML_COLLECT": "file:parent.txt"}
    subprocess.run([sys.executable, "-c", script], env=environment, cwd=tmp_path, check=True)
    assert rows(tmp_path / "parent.txt", "c_p")[0] == [["1"]]
    assert rows(tmp_path / "child.txt", "c_p")[0] == [["2"]]


def test_an_inject_after_the_end_is_dropped_and_counted(where):
    app = client(where)
    point = app.point("p", x=int)
    app.close()
    assert not point.inject(1)
    assert point.dropped == 1
