"""Traffic for captures: `serve`, `tun`, `udp ADDRESS`, or `both ADDRESS` (TCP and UDP)."""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import threading
import time


def serve() -> None:
    for family, address in ((socket.AF_INET, ""), (socket.AF_INET6, "")):
        udp = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        udp.bind((address, 5201))
        threading.Thread(target=echo, args=(udp,), daemon=True).start()
    tcp = socket.create_server(("", 5202))
    while True:
        connection, _ = tcp.accept()
        threading.Thread(target=drain, args=(connection,), daemon=True).start()


def echo(udp: socket.socket) -> None:
    while True:
        content, peer = udp.recvfrom(65536)
        udp.sendto(content[:40], peer)


def drain(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def udp(address: str, number: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sender = socket.socket(family, socket.SOCK_DGRAM)
    sender.bind(("", 40001))
    for count in range(number):
        size = 3000 if count == 2 and number < 50 else 600
        sender.sendto(count.to_bytes(8) + os.urandom(size - 8), (address, 5201))
        time.sleep(0.005)


def tcp(address: str) -> None:
    sender = socket.create_connection((address, 5202), source_address=("", 40002))
    for _ in range(16):
        sender.sendall(os.urandom(20_000))
        time.sleep(0.04)
    sender.close()


def tun() -> None:
    """Make an interface without a header of the link, and let what is sent into it vanish."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(
        file, 0x400454CA, struct.pack("16sH22s", b"tun0", 0x1001, b"")
    )  # TUNSETIFF, IFF_TUN | IFF_NO_PI
    for words in ("ip addr add 10.8.0.2/24 dev tun0", "ip link set tun0 up"):
        subprocess.run(words.split(), check=True)
    while os.read(file, 65536):
        pass


if sys.argv[1] == "tun":
    tun()
elif sys.argv[1] == "serve":
    serve()
elif sys.argv[1] == "udp":
    udp(sys.argv[2], 4)
else:
    thread = threading.Thread(target=tcp, args=(sys.argv[2],))
    thread.start()
    udp(sys.argv[2], 100)
    thread.join()
    time.sleep(2.5)
    udp(sys.argv[2], 3)
    time.sleep(0.1)
