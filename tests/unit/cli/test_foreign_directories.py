"""Experiment directories that somebody sent: whatever stands in them, commands end with a sentence, and show no file from outside."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from path_directory import steady, write_paths
from simulation_directory import run_simulation, simulation_text
from trialwise import study
from trialwise.analysis.estimation.flow_records import read_flows
from trialwise.errors import AnalysisError, PlanError, StoreError
from trialwise.execution.session import recorded_identity
from trialwise.experiment.text import frozen_name
from trialwise.measurement.packets import read_packets, write_packets
from trialwise.store.connection import connect
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger_file import LedgerFile
from trialwise.store.outputs import output_files, read_output
from trialwise.store.samples import read_many, record_name
from trialwise.study.standing import state

TEXT = """
[experiment]
name = "k"
[trial]
command = "{program}"
[metrics.t]
resource = "wall"
[design]
series = 1
rounds = 2
"""
SECONDS = 60


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Path]:
    """A copy of a directory whose trials ran this program."""
    folder = tmp_path_factory.mktemp("begun")
    for program in ("true", "false"):
        file = folder / f"{program}.toml"
        file.write_text(TEXT.format(program=program))
        study.run(file, folder / program)
    return lambda program, to: Path(shutil.copytree(folder / program, to / "results"))


def said(*words: str | Path, environment: dict[str, str] | None = None) -> tuple[int, str]:
    ran = subprocess.run(
        [sys.executable, "-c", "from trialwise.cli.main import main; main()", *words],
        capture_output=True, text=True, timeout=SECONDS, check=False, env=os.environ | (environment or {}),
    )  # fmt: skip
    return ran.returncode, ran.stdout + ran.stderr


def change(directory: Path, *statements: str) -> None:
    connection = sqlite3.connect(directory / "ledger.sqlite")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("verb", ["status", "analyze", "run"])
def test_a_pipe_in_place_of_the_experiment_is_refused(begun, tmp_path: Path, verb: str):
    directory = begun("true", tmp_path)
    (directory / "experiment.toml").unlink()
    os.mkfifo(directory / "experiment.toml")
    code, text = said(verb, directory)
    assert (code, "experiment.toml: is a pipe, but a file is expected" in text) == (2, True), text


@pytest.mark.parametrize("verb", ["status", "analyze", "run"])
def test_a_view_that_never_ends_is_refused(begun, tmp_path: Path, verb: str):
    directory = begun("true", tmp_path)
    endless = "with recursive r(x) as (select 1 union all select x + 1 from r) select t.* from trial_ t, r"
    change(directory, "alter table trial rename to trial_", f"create view trial as {endless}")
    code, text = said(verb, directory)
    assert (code, "holds the view 'trial'" in text) == (5, True), text


@pytest.mark.parametrize("verb", ["status", "analyze", "report", "run"])
def test_every_command_refuses_a_damaged_page(begun, tmp_path: Path, verb: str):
    directory = begun("true", tmp_path)
    with sqlite3.connect(directory / "ledger.sqlite") as ledger:
        size, root = ledger.execute(
            "select (select page_size from pragma_page_size), rootpage from sqlite_master where name = 'trial_status'"
        ).fetchone()
    ledger.close()
    with (directory / "ledger.sqlite").open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xa5" * size)
    code, text = said(verb, directory)
    assert (code, "damaged" in text or "malformed" in text) == (5, True), text


def test_factors_nested_without_end_are_refused(begun, tmp_path: Path):
    directory = begun("true", tmp_path)
    change(directory, "update trial set factors = '" + "[" * 100_000 + "'")
    for verb in ("analyze", "run"):
        code, text = said(verb, directory)
        assert code == 5, text
        assert "factors that cannot be read" in text


def test_factors_of_another_experiment_are_refused(begun, tmp_path: Path):
    directory = begun("true", tmp_path)
    file = directory / "experiment.toml"
    text = file.read_text().replace("[trial]", "[factors]\nzz = [1, 2]\n[trial]")
    file.write_text(text + 'unseen = ["zz"]\n')
    code, text = said("analyze", directory)
    assert (code, "has no level of the factors in experiment.toml" in text) == (5, True), text
    code, text = said("run", directory)
    assert (code, "this directory began with another plan" in text) == (2, True), text


def test_a_planned_trial_without_a_factor_is_refused(tmp_path: Path):
    file = tmp_path / "lacking.toml"
    text = TEXT.format(program="echo {zz} {more}")
    file.write_text(text.replace("[trial]", "[factors]\nzz = [1, 2]\nmore = { draw = [3, 4] }\n[trial]"))
    study.run(file, tmp_path / "results")
    change(
        tmp_path / "results",
        "update trial set factors = json_remove(factors, '$.zz'), status = 'planned' where number = 2",
    )
    for verb in ("run", "analyze", "status", "report"):
        code, text = said(verb, tmp_path / "results")
        assert (code, "has no level of the factors in experiment.toml: zz" in text) == (5, True), (verb, text)


def test_a_runtime_beyond_all_numbers_is_refused(tmp_path: Path):
    file = tmp_path / "huge.toml"
    file.write_text(TEXT.format(program="true").replace("[metrics.t]", f"runtime = {'1' * 400}\n[metrics.t]"))
    code, text = said("plan", file)
    assert (code, "huge.toml:6: trial.runtime" in text) == (2, True), text


def test_links_in_a_directory_are_not_followed(begun, tmp_path: Path):
    directory = begun("false", tmp_path)
    (tmp_path / "outside").write_text("MARKER")
    logs = list((directory / "logs").iterdir())
    assert logs
    for log in logs:
        log.unlink()
        log.symlink_to(tmp_path / "outside")
    code, text = said("report", directory, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "MARKER" not in page + text
    assert "is a link, which is not followed" in page
    assert code == 0


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        (
            "alter table trial add column more text as (hex(zeroblob(5e8))) virtual",
            "generated column 'trial.more'",
        ),
        ("create index slow on trial (length(hex(zeroblob(number))))", "index 'slow'"),
        ("create index some on trial (number) where status like '%a%a%a%'", "index 'some'"),
        ("create index lines on trial (number)\nwhere(status like '%a%a%a%')", "index 'lines'"),
        ("create virtual table found using rtree(id, low, high)", "table 'found'"),
    ],
)
def test_what_a_ledger_would_compute_is_refused(
    begun: Callable[[str, Path], Path], tmp_path: Path, statement: str, kind: str
):
    directory = begun("true", tmp_path)
    change(directory, statement)
    with pytest.raises(StoreError, match=f"holds the {kind}"):
        study.analyse(directory)
    with pytest.raises(StoreError, match=f"holds the {kind}"):
        study.run(directory / "experiment.toml", directory)


ENDLESS = {
    "rows": "with recursive r(x) as (select 1 union all select x + 1 from r) select t.* from trial_ t, r",
    "no row": "with recursive r(x) as (select 1 union all select x + 1 from r) select t.* from trial_ t, r where x < 0",
}


@pytest.mark.parametrize("what", ENDLESS)
@pytest.mark.parametrize("verb", ["status", "analyze", "report", "run"])
def test_what_never_ends_is_given_up_even_if_its_schema_is_not_refused(
    begun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, verb: str
):
    directory = begun("true", tmp_path)
    change(directory, "alter table trial rename to trial_", f"create view trial as {ENDLESS[what]}")
    monkeypatch.setattr(LedgerFile, "require_format", lambda _: None)
    monkeypatch.setattr(LedgerFile, "require_wholeness", lambda _: None)
    act = {
        "status": lambda: state(directory),
        "analyze": lambda: study.analyse(directory),
        "report": lambda: study.analyse(directory, all_trials=True),
        "run": lambda: study.run(directory / "experiment.toml", directory),
    }
    with pytest.raises(StoreError, match="comes to no end"):
        act[verb]()


def test_no_value_of_a_ledger_becomes_large(begun: Callable[[str, Path], Path], tmp_path: Path):
    directory = begun("true", tmp_path)
    ledger = connect(directory / "ledger.sqlite", "ro")
    with closing(ledger), pytest.raises(sqlite3.DataError, match="too big"):
        ledger.execute("select zeroblob(100000000)")


@pytest.mark.parametrize("spoil", ["link", "pipe"])
def test_the_record_of_an_environment_is_a_regular_file(
    begun: Callable[[str, Path], Path], tmp_path: Path, spoil: str
):
    directory = ExperimentDirectory(begun("true", tmp_path))
    with closing(directory.ledger()) as ledger:
        session = ledger.sessions()[-1]
    assert recorded_identity(directory, session)
    file = directory.path / session.environment
    file.replace(tmp_path / "outside")
    if spoil == "link":
        file.symlink_to(tmp_path / "outside")
    else:
        os.mkfifo(file)
    with pytest.raises(StoreError, match=f"is a {spoil}"):
        recorded_identity(directory, session)


def test_the_experiment_of_a_directory_is_no_link(begun: Callable[[str, Path], Path], tmp_path: Path):
    directory = begun("true", tmp_path)
    (directory / "experiment.toml").replace(tmp_path / "outside")
    (directory / "experiment.toml").symlink_to(tmp_path / "outside")
    with pytest.raises(PlanError, match=r"experiment\.toml is a link"):
        study.analyse(directory)


def test_samples_of_more_values_than_are_read_are_refused(sampled: Path, monkeypatch: pytest.MonkeyPatch):
    assert study.analyse(sampled)
    monkeypatch.setattr("trialwise.store.samples.MAX_VALUES", 8)
    with pytest.raises(StoreError, match="9 values, more than the 8"):
        list(
            read_many(
                sampled, [(f"samples/{file.name}", 0, 0, "") for file in (sampled / "samples").iterdir()]
            )
        )


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose trials have files of samples."""
    folder = tmp_path_factory.mktemp("sampled")
    text = TEXT.replace('"{program}"', "\"sh -c '(echo x; seq 9) > out'\"").replace(
        'resource = "wall"', 'file = "out"\ncsv = "x"\nkpi = { percentile = 50 }'
    )
    (folder / "sampled.toml").write_text(text)
    study.run(folder / "sampled.toml", folder / "results")
    assert list((folder / "results" / "samples").iterdir())
    return folder / "results"


def a_link(file: Path, outside: Path) -> None:
    file.replace(outside)
    file.symlink_to(outside)


def a_pipe(file: Path, outside: Path) -> None:
    file.replace(outside)
    os.mkfifo(file)


def a_folder_behind_a_link(file: Path, outside: Path) -> None:
    file.parent.replace(outside)
    file.parent.symlink_to(outside)


def damaged(file: Path, outside: Path) -> None:
    del outside
    content = bytearray(file.read_bytes())
    content[8 : len(content) // 2] = bytes(len(content) // 2 - 8)
    file.write_bytes(content)


def other_columns(file: Path, outside: Path) -> None:
    del outside
    pl.DataFrame({"another": [1.0]}).write_parquet(file)


def words_for_numbers(file: Path, outside: Path) -> None:
    del outside
    pl.DataFrame({"value": ["many"]}).write_parquet(file)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (a_link, "is a link, which is not followed"),
        (a_pipe, "is a pipe, but a file is expected"),
        (a_folder_behind_a_link, "samples is a link, which is not followed"),
        (damaged, "cannot be read"),
        (other_columns, "cannot be read"),
        (words_for_numbers, "holds no numbers"),
    ],
)
def test_samples_are_regular_files_of_the_directory(
    sampled: Path, tmp_path: Path, spoil: Callable[[Path, Path], None], sentence: str
):
    directory = Path(shutil.copytree(sampled, tmp_path / "results"))
    spoil(min((directory / "samples").iterdir()), tmp_path / "outside")
    with pytest.raises(StoreError, match=sentence):
        study.analyse(directory)


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose trials have a record of their flows and share a file of samples."""
    text = simulation_text(
        '[metrics.p90]\nquantity = "fct"\nmeasure = "p90"\nestimand = "pooled"\n[design]\nseries = 1\nrounds = 30\n',
        workload='sizes = "fixed:20kB", load = "50%", duration = "1ms"',
        factors="",
        scheme="dctcp",
    )
    return run_simulation(tmp_path_factory.mktemp("flows"), text)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (a_link, "is a link, which is not followed"),
        (a_pipe, "is a pipe, but a file is expected"),
        (a_folder_behind_a_link, "samples is a link, which is not followed"),
    ],
)
def test_records_of_flows_are_regular_files_of_the_directory(
    flows: Path, tmp_path: Path, spoil: Callable[[Path, Path], None], sentence: str
):
    directory = ExperimentDirectory(Path(shutil.copytree(flows, tmp_path / "results")))
    with closing(directory.ledger()) as ledger:
        rows = ledger.trials("finished")
    assert read_flows(directory, rows).rows == tuple(rows)
    spoil(directory.path / record_name(rows[0].number, 1, "flows"), tmp_path / "outside")
    with pytest.raises(StoreError, match=sentence):
        read_flows(directory, rows[:1])


def test_records_of_more_flows_than_are_read_are_refused(flows: Path, monkeypatch: pytest.MonkeyPatch):
    directory = ExperimentDirectory(flows)
    with closing(directory.ledger()) as ledger:
        rows = ledger.trials("finished")
    monkeypatch.setattr("trialwise.store.samples.MAX_VALUES", 8)
    with pytest.raises(AnalysisError, match="values, more than the 8"):
        read_flows(directory, rows)


@pytest.mark.parametrize("spoil", [a_link, a_pipe, a_folder_behind_a_link])
def test_packets_are_regular_files_of_the_directory(tmp_path: Path, spoil: Callable[[Path, Path], None]):
    file = tmp_path / "results/samples/packets.parquet"
    file.parent.mkdir(parents=True)
    write_packets(file, steady(0.1, 0.01))
    assert len(read_packets(file, within=tmp_path / "results"))
    spoil(file, tmp_path / "outside")
    with pytest.raises(AnalysisError, match=r"is not followed|but a file is expected"):
        read_packets(file, within=tmp_path / "results")


def test_packets_of_a_directory_that_are_a_link_are_told_and_left_out(tmp_path: Path):
    directory = write_paths(tmp_path / "results")
    (file,) = sorted((directory / "samples").glob("*-packets.parquet"))[:1]
    a_link(file, tmp_path / "outside")
    path = study.analyse(directory).path
    assert path is not None
    assert [text for text in path.notes if "is a link" in text]


DRAWN = '[factors]\nx = {{ draw = "{draw}" }}\n[trial]'


@pytest.mark.parametrize("draw", ["values.txt", "folder/values.txt", "../values.txt"])
@pytest.mark.parametrize("spoil", ["nothing", "gone", "link", "pipe", "folder"])
def test_what_was_drawn_from_is_read_from_the_directory_alone(tmp_path: Path, draw: str, spoil: str):
    folder = tmp_path / "own"
    (folder / "folder").mkdir(parents=True)
    (folder / draw).write_text("1\n2\n")
    text = TEXT.format(program="true {x}").replace("[trial]", DRAWN.format(draw=draw))
    (folder / "drawn.toml").write_text(text)
    study.run(folder / "drawn.toml", tmp_path / "results")
    frozen = tmp_path / "results" / frozen_name(draw)
    outside = tmp_path / "outside"
    if spoil == "folder" and frozen.parent != tmp_path / "results":
        a_folder_behind_a_link(frozen, outside)
    elif spoil == "gone":
        frozen.unlink()
        (tmp_path / "results" / "../values.txt").write_text("MARKER\n")
    elif spoil == "pipe":
        a_pipe(frozen, outside)
    elif spoil != "nothing":
        a_link(frozen, outside)
    if spoil == "nothing":
        assert study.analyse(tmp_path / "results")
        return
    code, said_of_it = said("analyze", tmp_path / "results")
    assert (code, "the file to draw from" in said_of_it, "MARKER" in said_of_it) == (2, True, False)


def test_the_lock_of_a_directory_is_no_link_and_no_pipe(begun, tmp_path: Path):
    directory = begun("true", tmp_path)
    (tmp_path / "outside").write_text("kept as it is")
    (directory / ".lock").unlink()
    (directory / ".lock").symlink_to(tmp_path / "outside")
    code, text = said("run", directory)
    assert (code, ".lock: is a link" in text) == (5, True), text
    assert (tmp_path / "outside").read_text() == "kept as it is"
    (directory / ".lock").unlink()
    os.mkfifo(directory / ".lock")
    code, text = said("run", directory)
    assert (code, ".lock: is not a regular file" in text) == (5, True), text
    code, text = said("status", directory)
    assert code == 0, text


def test_nothing_is_written_through_links(tmp_path: Path):
    """Neither into the folder that one stands for, nor into the file that a temporary name leads to."""
    file = tmp_path / "k.toml"
    file.write_text(TEXT.format(program="false"))
    study.run(file, tmp_path / "results", only={})
    directory, outside = ExperimentDirectory(tmp_path / "results"), tmp_path / "outside"
    outside.write_text("kept as it is")
    (directory.path / "facts.tmp").symlink_to(outside)
    directory.write_durably("facts", b"new")
    assert ((directory.path / "facts").read_text(), outside.read_text()) == ("new", "kept as it is")
    (tmp_path / "elsewhere").mkdir()
    shutil.rmtree(directory.path / "logs")
    (directory.path / "logs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="logs is a link"):
        directory.make()


@pytest.mark.parametrize("spoil", [a_link, a_pipe, a_folder_behind_a_link])
def test_outputs_that_are_kept_are_regular_files_of_the_directory(
    begun, tmp_path: Path, spoil: Callable[[Path, Path], None]
):
    directory = begun("true", tmp_path)
    name, content = next(iter(output_files(1, 1, b"printed", b"")))
    (directory / name).write_bytes(content)
    assert read_output(directory, 1, 1, "stdout") is not None
    spoil(directory / name, tmp_path / "outside")
    assert read_output(directory, 1, 1, "stdout") is None


@pytest.mark.parametrize("place", ["/etc/passwd", "../outside.parquet", "samples/../../outside.parquet", ""])
def test_the_ledger_names_no_file_outside_the_directory(sampled: Path, tmp_path: Path, place: str):
    directory = Path(shutil.copytree(sampled, tmp_path / "results"))
    shutil.copy(min((directory / "samples").iterdir()), tmp_path / "outside.parquet")
    change(directory, f"update value set file = '{place}'")  # noqa: S608 the test's own words
    with pytest.raises(StoreError, match="lies outside"):
        study.analyse(directory)


@pytest.mark.parametrize("name", ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-journal"])
def test_a_ledger_that_is_a_link_is_neither_read_nor_written(
    begun: Callable[[str, Path], Path], tmp_path: Path, name: str
):
    directory = begun("true", tmp_path)
    outside = tmp_path / "outside"
    if name == "ledger.sqlite":
        (directory / name).replace(outside)
    else:
        (directory / name).unlink(missing_ok=True)
        outside.write_bytes(b"kept as it is")
    (directory / name).symlink_to(outside)
    before = outside.read_bytes()
    with pytest.raises(StoreError, match=f"{name} is a link"):
        study.analyse(directory)
    with pytest.raises(StoreError, match=f"{name} is a link"):
        study.run(directory / "experiment.toml", directory)
    assert outside.read_bytes() == before


def test_what_nobody_foresaw_is_a_sentence():
    program = (
        "import sys; sys.argv = ['trialwise', 'x']\n"
        "import trialwise.cli.main as m\n"
        "def app(*_, **__): raise {raised}\n"
        "m.app = app; m.main()"
    )
    for raised, code, words in (
        ("OverflowError('int too large')", 7, "int too large (OverflowError in cli/main.py"),
        ("RecursionError('deep')", 7, "deep (RecursionError"),
        ("type('PanicException', (BaseException,), {})('index')", 7, "index (PanicException"),
        ("OSError(28, 'No space left on device', '/x/y')", 5, "/x/y: the disk is full"),
    ):
        ran = subprocess.run(
            [sys.executable, "-c", program.replace("{raised}", raised)],
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert (ran.returncode, words in ran.stderr, "Traceback" in ran.stderr) == (code, True, False), (
            ran.stderr
        )


@pytest.mark.parametrize("verb", ["status", "analyze", "run"])
def test_a_schema_that_is_no_text_is_refused(begun, tmp_path: Path, verb: str):
    """SQLite repeats it in its message, and Python's module then raises UnicodeDecodeError."""
    directory = begun("true", tmp_path)
    file = directory / "ledger.sqlite"
    change(directory, "pragma journal_mode = delete")
    content = file.read_bytes()
    assert content.count(b"samples INTEGER NOT NULL") == 1
    file.write_bytes(content.replace(b"samples INTEGER NOT NULL", b"samples INTEGER NOT NU\xb3L"))
    code, text = said(verb, directory)
    assert (code, "ledger.sqlite: cannot be" in text, "Traceback" in text) == (5, True, False), text
