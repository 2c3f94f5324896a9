"""One trial: TCP through an emulated path for some seconds, and reports about its packets through the same path.

python3 trial.py EVERY SECONDS

EVERY is none, or how many packets a report sums up. Both end here, outside of the path: what arrives is counted.
"""

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATH = ["--rate", "10Mbit/s", "--delay", "10ms", "--queue", "droptail:packets=50"]


class Sink(threading.Thread):
    """Counts the bytes of one connection, and between which times they came."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.server = socket.create_server(("", 0))
        self.port = self.server.getsockname()[1]
        self.bytes = 0
        self.first = self.last = 0.0
        self.start()

    def run(self) -> None:
        connection, _ = self.server.accept()
        while data := connection.recv(1 << 16):
            self.last = time.monotonic()
            self.first = self.first or self.last
            self.bytes += len(data)


def main(every: str, seconds: str) -> None:
    traffic, reports = Sink(), Sink()
    inside = [sys.executable, str(HERE / "inside.py"), every, seconds, str(traffic.port), str(reports.port)]
    subprocess.run(["trialwise", "path", "--quiet", *PATH, "--", *inside], check=True)
    traffic.join(3)
    if every != "none":
        reports.join(3)
    took = traffic.last - traffic.first
    print(
        json.dumps(
            {"throughput": 8e-6 * traffic.bytes / took, "reports": 8e-6 * reports.bytes / float(seconds)}
        )
    )


main(*sys.argv[1:])
