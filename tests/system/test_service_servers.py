"""Real servers as services: PostgreSQL, which renames its processes and shuts down in its own way, and nginx with its workers."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.conftest import Bench
from tests.system.postgresql import programs
from tests.system.test_services import events, free_port

POSTGRESQL = pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")
NGINX = pytest.mark.skipif(not Path("/usr/sbin/nginx").exists(), reason="nginx is not installed")
AS_POSTGRES = "setpriv --reuid postgres --regid postgres --clear-groups " if os.geteuid() == 0 else ""


@pytest.fixture
def open_bench() -> Iterator[Bench]:
    """A folder that other users may enter, with a path short enough for a socket; nothing of it is left."""
    folder = Path(tempfile.mkdtemp(prefix="trialwise-services-"))
    folder.chmod(0o755)
    yield Bench(folder)
    shutil.rmtree(folder)


def processes_in(folder: Path) -> list[int]:
    """The processes whose working directory is in a folder, but for our own."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@POSTGRESQL
def test_every_round_has_a_fresh_database(open_bench: Bench):
    bench, folder = open_bench, open_bench.folder
    for name in ("clean", "data", "run"):
        (folder / name).mkdir(mode=0o700)
        if AS_POSTGRES:
            shutil.chown(folder / name, "postgres", "postgres")
    setup = f"{AS_POSTGRES}{programs()}/initdb -D clean -U postgres -A trust --no-sync --locale=C >/dev/null"
    assert os.system(f"cd {folder} && {setup}") == 0  # noqa: S605 our own words
    (folder / "count.sql").write_text(
        "CREATE TABLE IF NOT EXISTS t (x int);\nINSERT INTO t VALUES (1);\nSELECT count(*) FROM t;\n"
    )
    trial = f"{programs()}/psql -h {folder}/run -U postgres -Atq -v side={{side}} -f count.sql"
    start = f"{programs()}/postgres -D data -c listen_addresses= -c fsync=off -c unix_socket_directories={folder}/run"
    rest = f"""
[service.database]
start = "{AS_POSTGRES}{start}"
ready = {{ log = "ready to accept connections", timeout = "60s" }}
stop = "{AS_POSTGRES}{programs()}/pg_ctl stop -m fast -D data"
version = "{programs()}/postgres --version"
[reset]
service = "database"
directory = {{ path = "data", template = "clean" }}
"""
    bench.write(trial, "stdout = '([0-9]+)'", factors="side = [1, 2]", rest=rest)
    result = bench.run()
    assert result.counts == {"finished": 4}, result.ending
    assert bench.values() == [1, 2, 1, 2]
    logs = [file.read_text() for file in bench.directory.glob("logs/service-database-*")]
    assert len(logs) == 2
    assert all(
        "received fast shutdown request" in log and "database system is shut down" in log for log in logs
    )
    assert processes_in(folder) == []
    assert "; version postgres (PostgreSQL) " in events(bench, "service")[0]


@NGINX
def test_workers_of_a_server_that_is_killed_are_ended_too(open_bench: Bench):
    bench, folder, port = open_bench, open_bench.folder, free_port()
    (folder / "nginx.conf").write_text(
        f"worker_processes 3; error_log stderr; pid {folder}/pid;\nevents {{ worker_connections 32; }}\n"
        f"http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n"
        f"fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;\n"
        f"server {{ listen 127.0.0.1:{port}; location / {{ return 200; }} }} }}\n"
    )
    rest = f"""
[service.web]
start = "/usr/sbin/nginx -c {folder}/nginx.conf -g 'daemon off;'"
ready = {{ http = "http://127.0.0.1:{port}/" }}
version = "/usr/sbin/nginx -v"
"""
    script = "sh -c 'test {round} != 2 || kill -9 $(cat pid)'"
    result = bench.write(script, rest=rest, rounds=3).run()
    assert result.counts == {"finished": 2, "invalid": 1}, result.ending
    assert events(bench, "service died")[0].startswith("web was ended by signal 9")
    assert processes_in(folder) == []
    assert "; version nginx version: nginx/" in events(bench, "service")[0]
