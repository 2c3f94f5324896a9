"""A NAT of user space for UDP: `python rebinding.py LISTENER PORT…` passes what comes to its ports on, from ports of its own.

At SIGUSR1 it forgets those and takes others, as a router does that is restarted.
"""

import select
import signal
import socket
import sys


def bound(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("", port))
    return sock


def main() -> None:
    listener, *ports = sys.argv[1], *map(int, sys.argv[2:])
    inside = {port: bound(port) for port in ports}
    outside = {port: bound(0) for port in ports}
    callers: dict[int, tuple[str, int]] = {}
    signal.signal(signal.SIGUSR1, lambda *_: outside.update({port: bound(0) for port in ports}))
    while True:
        for sock in select.select([*inside.values(), *outside.values()], [], [], 0.05)[0]:
            for port in ports:
                if sock is inside[port]:
                    data, callers[port] = sock.recvfrom(1 << 16)
                    outside[port].sendto(data, (listener, port))
                elif sock is outside[port]:
                    inside[port].sendto(sock.recv(1 << 16), callers[port])


if __name__ == "__main__":
    main()
