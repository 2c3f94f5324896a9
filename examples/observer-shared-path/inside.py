"""Inside the path: sends TCP as fast as it goes, and reports every packet's worth of it.

python3 inside.py EVERY SECONDS PORT REPORT_PORT
"""

import os
import socket
import sys
import time

from trialwise.measurement import Client

BLOCK = bytes(1448)
FIELDS = {
    "pktid": "uint64", "src": str, "dst": str, "len": "uint32", "ttl": "uint32",
    "sport": "uint32", "dport": "uint32", "seq": "uint64", "window": "uint32", "sent": float,
}  # fmt: skip


def main(every: str, seconds: str, port: str, report_port: str) -> None:
    peer = os.environ["TRIALWISE_PEER"]
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 17)
    connection.connect((peer, int(port)))
    own, own_port = connection.getsockname()
    client = (
        None if every == "none" else Client("trace", collect=f"tcp:{peer}:{report_port}", samples=int(every))
    )
    packet = client and client.point("packet", **FIELDS)
    end = time.monotonic() + float(seconds)
    number = 0
    while time.monotonic() < end:
        connection.sendall(BLOCK)
        if packet:
            packet.inject(number, own, peer, 1500, 64, own_port, int(port), number * 1448, 65535, time.time())
        number += 1
    connection.shutdown(socket.SHUT_WR)
    if client:
        client.close(10)
    time.sleep(0.3)  # what is on its way arrives before the path goes


main(*sys.argv[1:])
