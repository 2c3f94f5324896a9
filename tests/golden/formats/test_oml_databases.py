"""Databases of OML's server: what oml2-server stored is what its clients sent; harmful and damaged ones do no harm."""

import sqlite3
from pathlib import Path

import pytest

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.register import recognised

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "oml"
HEAD = "oml_tuple_id INTEGER PRIMARY KEY, oml_sender_id INTEGER, oml_seq INTEGER, oml_ts_client REAL, oml_ts_server REAL"
SCRIPT = f"""
CREATE TABLE _senders (name TEXT PRIMARY KEY, id INTEGER UNIQUE);
INSERT INTO _senders VALUES ('a', 1), ('b', 2);
CREATE TABLE _experiment_metadata ({HEAD}, subject TEXT, key TEXT, value TEXT);
INSERT INTO _experiment_metadata (key, value)
    VALUES ('start_time', '1000'), ('table_app_rtt', '1 app_rtt n:uint32 ms:double ok:bool host:string');
CREATE TABLE app_rtt ({HEAD}, n UNSIGNED INTEGER, ms REAL, ok INTEGER, host TEXT);
INSERT INTO app_rtt VALUES
    (1, 1, 1, 0.5, 0.6, -1, 4.0, 1, 'x'), (2, 2, 1, 0.5, 0.6, 2, 7.0, 1, 'y'), (3, 1, 2, 1.5, 1.6, 1, 5.0, 0, CAST(X'FF' AS TEXT));
"""  # noqa: S608  our own
MADE = f"""
CREATE TABLE app_made ({HEAD}, big INTEGER AS (length(hex(zeroblob(9000000)))));
INSERT INTO app_made VALUES (1, 1, 1, 0, 0);
"""  # noqa: S608  our own


def database(script):
    """Return the bytes of a database."""
    made = sqlite3.connect(":memory:")
    made.executescript(script)
    data = made.serialize()
    made.close()
    return data


def read(data):
    """Read bytes by the reader that recognises them."""
    content = Content(Path("demo.sq3"), data)
    reader = recognised(content)
    assert reader is not None
    assert reader.name == "oml-sqlite"
    return reader.reading(content)


def test_a_sender_is_a_trial_and_rows_are_its_samples():
    rows = {(row.levels["host"], row.metric): row for row in read(database(SCRIPT)).rows}
    assert {key: row.value for key, row in rows.items()} == {
        ("a", "app_rtt.ms"): 4.5,
        ("a", "app_rtt.n"): 2**31,  # (2³² − 1 + 1) / 2: the server stores 2³² − 1 as −1
        ("b", "app_rtt.ms"): 7.0,
        ("b", "app_rtt.n"): 2.0,
    }
    assert rows["a", "app_rtt.ms"].samples.times == [1000.5, 1001.5]


def test_a_database_with_a_write_ahead_log_is_read_without_it():
    data = bytearray(database(SCRIPT))
    data[18:20] = b"\2\2"
    assert len(read(bytes(data)).rows) == 4


@pytest.mark.parametrize(
    "harmful",
    [
        "CREATE VIEW app_view AS SELECT 1 AS oml_tuple_id, randomblob(100000000) AS ms;",
        MADE,
        """CREATE TABLE "odd""; DROP TABLE app_rtt; --" (x REAL);""",
    ],
)
def test_what_is_no_plain_table_of_oml_is_passed_over(harmful):
    assert len(read(database(SCRIPT + harmful)).rows) == 4


def test_a_cut_or_damaged_database_is_refused_or_read():
    data = database(SCRIPT)
    for place in range(100, len(data), 997):
        for damaged in (data[:place], data[:place] + b"\xff" * 8 + data[place + 8 :]):
            content = Content(Path("demo.sq3"), damaged)
            try:
                reader = recognised(content)
                if reader is not None:
                    reader.reading(content)
            except AnalysisError:
                continue


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
@pytest.mark.parametrize(
    "name", ["filters_text", "hand_v1_text", "hand_v3_text", "long_text", "meta_text", "scalars_text"]
)
def test_what_the_real_server_stored_is_what_was_sent(name):
    script = (SHARED / f"{name}.sql").read_bytes().decode("latin-1")
    sent = Content(SHARED / f"{name}.txt", (SHARED / f"{name}.txt").read_bytes())
    expected = {row.metric: row.value for row in recognised(sent).reading(sent).rows}
    found = {row.metric: row.value for row in read(database(script)).rows}
    assert found == {
        metric: None if value is None else pytest.approx(value) for metric, value in expected.items()
    }
