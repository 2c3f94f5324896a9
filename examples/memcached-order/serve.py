"""Keeps a memcached running while a command runs, and starts a new one whenever it is told to shut down.

Usage: serve.py COMMAND...

The server listens on the socket `memcached.sock` in this folder and nowhere else, with Debian's 64 MB of memory. A reset of
the experiment shuts it down (`load.py restart`), and this script, which is not part of the experiment, starts the next one.
"""

from __future__ import annotations

import getpass
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SOCKET = "memcached.sock"
MEGABYTES = 64
THREADS = 2


def server() -> list[str]:
    """The server's command line; -A lets a client shut it down."""
    program = shutil.which("memcached")
    if program is None:
        sys.exit("serve.py: memcached is not installed; try: sudo apt-get install memcached")
    return [program, "-A", "-s", SOCKET, "-m", str(MEGABYTES), "-t", str(THREADS), "-u", getpass.getuser()]


class Keeper:
    """Runs one memcached after the other until it is closed."""

    def __init__(self) -> None:
        self._words = server()
        (FOLDER / SOCKET).unlink(missing_ok=True)
        self._over = threading.Event()
        self._running = self._start()
        self._await()
        self._thread = threading.Thread(target=self._keep)
        self._thread.start()

    def _start(self) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C is for the command, which ends its trial before the server goes.
        return subprocess.Popen(self._words, cwd=FOLDER, start_new_session=True)

    def _await(self) -> None:
        while not (FOLDER / SOCKET).is_socket():
            if self._running.poll() is not None:
                sys.exit(f"serve.py: memcached ended with exit code {self._running.returncode}")
            time.sleep(0.02)

    def _keep(self) -> None:
        while True:
            self._running.wait()
            if self._over.wait(0.05):
                return
            self._running = self._start()

    def close(self) -> None:
        """End the server and remove its socket."""
        self._over.set()
        self._running.terminate()
        self._thread.join()
        (FOLDER / SOCKET).unlink(missing_ok=True)


def main() -> int:
    """Run the command beside the server; its exit code."""
    if not sys.argv[1:]:
        sys.exit(f"usage: {sys.argv[0]} COMMAND...")
    keeper = Keeper()
    try:
        command = subprocess.Popen(sys.argv[1:])
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: command.send_signal(number))
        return command.wait()
    except FileNotFoundError as error:
        sys.exit(f"serve.py: {error}")
    finally:
        keeper.close()


if __name__ == "__main__":
    sys.exit(main())
