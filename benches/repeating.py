"""An experiment directory with many trials, of which a few ran: for what reads directories, not for what it says."""

import os
import sqlite3
from pathlib import Path

import polars as pl

from trialwise import study


def repeated(source: Path, directory: Path, ran: int, rounds: int) -> None:
    """Run the first rounds of an experiment file, and let them stand for further ones, up to a whole number of times.

    `rounds` is a multiple of `ran`; the file asks for all of them, and for more than they will know.
    """
    whole = source.read_text()
    source.write_text(
        whole.replace(f"max_trials = {rounds}", f"max_trials = {ran}").replace("stop = ", "# stop = ")
    )
    source.write_text(source.read_text().replace(f"max_trials = {ran}", f"series = 1\nrounds = {ran}"))
    study.run(source, directory)
    source.write_text(whole)
    (directory / "experiment.toml").write_text(whole)
    trials = _trials(directory / "ledger.sqlite", whole, rounds // ran)
    for file in list((directory / "samples").iterdir()):
        _copy(file, trials, rounds // ran)


def _trials(ledger: Path, text: str, times: int) -> int:
    connection = sqlite3.connect(ledger)
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(trial)")]
    (trials,) = connection.execute("SELECT count(*) FROM trial").fetchone()
    (rounds,) = connection.execute("SELECT max(round) FROM trial").fetchone()
    for time in range(1, times):
        further = {"number": f"number + {time * trials}", "round": f"round + {time * rounds}"}
        chosen = ", ".join(further.get(name, f'"{name}"') for name in columns)
        connection.execute(f"INSERT INTO trial SELECT {chosen} FROM trial WHERE number <= {trials}")  # noqa: S608
        connection.execute(
            f"INSERT INTO value SELECT number + {time * trials}, attempt, source, value, samples, "  # noqa: S608
            f"CASE WHEN file IS NOT NULL THEN 'samples/from-' || printf('%06d', substr(file, 14, 6) + {time * trials}) "
            f"|| substr(file, 20) END FROM value WHERE number <= {trials}"
        )
    connection.execute("UPDATE meta SET value = ? WHERE key = 'experiment'", (text,))
    connection.commit()
    connection.close()
    return trials


def _copy(file: Path, trials: int, times: int) -> None:
    """A file of samples under the numbers of further trials; records of flows are the same file under other names."""
    segment = file.name.startswith("from-")
    begin = 5 if segment else 0
    number, rest = int(file.name[begin : begin + 6]), file.name[begin + 6 :]
    frame = pl.read_parquet(file) if segment else None
    for time in range(1, times):
        further = file.with_name(f"{file.name[:begin]}{number + time * trials:06d}{rest}")
        if frame is None:
            os.link(file, further)
        else:
            frame.with_columns(pl.col("number") + time * trials).write_parquet(further)
