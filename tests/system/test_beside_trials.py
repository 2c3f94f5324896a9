"""Servers beside trials: what `prepare` or a reset starts lives as long as it is wanted, and no longer."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest
from tests.system.conftest import Bench
from tests.system.test_bad_programs import is_alive

SERVER = """
import http.server, os, sys
os.chdir(sys.argv[1])
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
if os.fork():
    os._exit(0)
os.setsid()
open("port.new", "w").write(str(server.server_address[1]))
open("pids", "a").write(f"{os.getpid()}\\n")
os.rename("port.new", "port")
server.serve_forever()
"""
CLIENT = """
import urllib.request
print("answered", urllib.request.urlopen(f"http://127.0.0.1:{open('port').read()}/port").status)
"""
ANSWERED = 'stdout = "answered (200)"'


@pytest.fixture
def served(bench: Bench) -> Bench:
    (bench.folder / "server.py").write_text(SERVER)
    (bench.folder / "client.py").write_text(CLIENT)
    return bench


def servers(bench: Bench) -> list[int]:
    return [int(line) for line in (bench.folder / "pids").read_text().split()]


def test_a_server_that_prepare_starts_lives_until_its_trial_is_concluded(served: Bench):
    trial = """prepare = "sh -c 'rm -f port; python3 server.py .; until test -e port; do sleep 0.01; done'"
conclude = "python3 client.py"
"""
    served.write("python3 client.py", ANSWERED, trial=trial)
    assert served.run().failed == 0
    assert served.values() == [200.0, 200.0]
    assert len(set(servers(served))) == 2
    assert not any(map(is_alive, servers(served)))


def test_a_server_that_a_reset_starts_lives_until_the_next_reset_or_the_end(served: Bench):
    reset = """[reset]
command = "sh -c 'rm -f port; python3 server.py .'"
check = "test -e port"
every = "round"
"""
    served.write("python3 client.py {a}", ANSWERED, factors="a = [1, 2]", rest=reset)
    assert served.run().failed == 0
    assert served.values() == [200.0] * 4
    assert len(servers(served)) == 2
    assert not any(map(is_alive, servers(served)))


def test_what_a_failed_prepare_has_started_is_ended(served: Bench):
    served.write("true", trial="prepare = \"sh -c 'sleep 60 & echo $! >> pids; exit 4'\"", rounds=1)
    assert served.run().failed == 1
    assert not any(map(is_alive, servers(served)))


def test_what_the_measured_program_leaves_is_ended_while_the_server_lives(served: Bench):
    trial = """leftovers = "end"
prepare = "sh -c 'rm -f port; python3 server.py .; until test -e port; do sleep 0.01; done'"
conclude = "python3 client.py"
"""
    served.write("sh -c 'sleep 60 & echo $! > other; python3 client.py'", ANSWERED, trial=trial)
    assert served.run().failed == 0
    assert not is_alive(int((served.folder / "other").read_text()))


@pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed")
def test_memcached_beside_the_trials(bench: Bench):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (bench.folder / "client.py").write_text(f"""
import socket
with socket.create_connection(("127.0.0.1", {port})) as server:
    server.sendall(b"set a 0 0 1\\r\\n7\\r\\nget a\\r\\nquit\\r\\n")
    print(server.makefile().read())
""")
    user = "-u nobody" if Path.home() == Path("/root") else ""
    ready = f"until nc -z 127.0.0.1 {port} 2>/dev/null || python3 client.py; do sleep 0.02; done"
    trial = f"""prepare = "sh -c 'memcached -d {user} -l 127.0.0.1 -p {port}; {ready} >/dev/null 2>&1'"\n"""
    bench.write("python3 client.py", r"stdout = '^(\d)\s*$'", trial=trial)
    assert bench.run().failed == 0
    assert bench.values() == [7.0, 7.0]
