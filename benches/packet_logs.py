"""Merging the two logs of a tunnel of 273 000 packets (546 000 lines), beside a merge line by line; reading a packet log.

Allowed: merging a third of the time that the lines take; reading the packet log 0.25 s for each million records.
"""

import struct
import sys
import tempfile
from pathlib import Path

import numpy as np

from measuring import fastest, milliseconds, write
from trialwise.exchange.pantheon_log import merge_single, read_tunnel_log, write_merged_log
from trialwise.measurement.packets import read_packet_log

PACKETS = 273_000
RECORDS = 1_000_000


def write_tunnel(ingress: Path, egress: Path) -> None:
    rng = np.random.default_rng(1)
    sent, sizes = np.sort(rng.uniform(0, 60_000, PACKETS)).round(3), rng.choice([1500, 88], PACKETS)
    received = (sent + 28 + rng.exponential(10, PACKETS)).round(3)
    pairs = zip(sent, sizes, strict=True)
    lines = (f"{time:.3f} - {uid} - {size}\n" for uid, (time, size) in enumerate(pairs))
    egress.write_text("# egress: 1795259022260.000\n" + "".join(lines))
    lines = (f"{received[uid]:.3f} - {uid} - {sizes[uid]}\n" for uid in np.argsort(received, kind="stable"))
    ingress.write_text("# ingress: 1795259022260.000\n" + "".join(lines))


def merge_lines(ingress: Path, egress: Path, out: Path) -> None:
    """The same merge with a loop over lines; both logs begin at one instant."""
    sent: dict[str, float] = {}
    events: list[tuple[float, int, str]] = []
    for line in egress.read_text().splitlines()[1:]:
        time, uid, size = line.split(" - ")
        sent[uid] = float(time)
        events.append((float(time), 0, f"+ {size}"))
    for line in ingress.read_text().splitlines()[1:]:
        time, uid, size = line.split(" - ")
        events.append((float(time), 1, f"- {size} {float(time) - sent[uid]:.3f}"))
    events.sort(key=lambda event: event[:2])
    text = "".join(f"{time:.3f} {event}\n" for time, _, event in events)
    out.write_text("# init timestamp: 1795259022260.000\n" + text)


def merge_columns(ingress: Path, egress: Path, out: Path) -> None:
    write_merged_log(out, merge_single(read_tunnel_log(ingress), read_tunnel_log(egress)))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ingress, egress, ours, theirs = (folder / each for each in ("ingress", "egress", "ours", "theirs"))
        write_tunnel(ingress, egress)
        log = folder / "packets.log"
        log.write_bytes(struct.pack("<8sIIQQ", b"TWPACKET", 1, 32, 0, 0) + bytes(32 * RECORDS))
        columns, lines, reading = fastest(
            lambda: merge_columns(ingress, egress, ours),
            lambda: merge_lines(ingress, egress, theirs),
            lambda: read_packet_log(log),
            rounds=5,
        )
        assert ours.read_bytes() == theirs.read_bytes()
    rows = [
        {"what": "merge", "ms": milliseconds(columns), "of_allowed": round(columns / lines * 3, 3)},
        {"what": "merge line by line", "ms": milliseconds(lines), "ratio": round(lines / columns, 1)},
        {"what": "packet log", "ms": milliseconds(reading), "of_allowed": round(reading / 0.25, 3)},
    ]
    write("packet_logs", rows)
    sys.exit(0 if all(row.get("of_allowed", 0) <= 1 for row in rows) else 1)


if __name__ == "__main__":
    main()
