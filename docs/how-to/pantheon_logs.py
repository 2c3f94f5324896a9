"""Writes `nepal-logs.tar.xz`: the folder `tmp` of a small test by Pantheon: three schemes, five runs of each, with a fixed seed."""

import json
import random
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

SCHEMES = {"cubic": (400, 90.0), "bbr": (380, 55.0), "vegas": (200, 36.0)}
"""Packets a second, and the 95th percentile of delay in ms that it comes to."""
RUNTIME, RUNS = 8, 5
OFFSETS = {"Local": 1.5, "Remote": -42.25}
"""Milliseconds by which the clocks of both ends are behind, as the test asked an NTP server."""
rng = random.Random(7)
folder = Path("tmp")
folder.mkdir(exist_ok=True)
began = datetime(2026, 11, 26, 9, tzinfo=UTC)


def tunnel_logs(name: str, rate: float, delay: float) -> None:
    """Write what went into a tunnel at the sender's end, and what came out at the other, each by its own clock."""
    start = began.timestamp() * 1000
    ends = {"egress": start - OFFSETS["Local"], "ingress": start - OFFSETS["Remote"]}
    lines = {"egress": [], "ingress": []}
    time, low = 0.0, 28.0
    for uid in range(1, int(rate * RUNTIME)):
        time += rng.expovariate(rate / 1000)
        lines["egress"].append(f"{time:.3f} - {uid} - 1500")
        if rng.random() > 0.005:
            arrival = time + low + rng.random() * (delay - low) / 0.95
            lines["ingress"].append((arrival, f"{arrival:.3f} - {uid} - 1500"))
    lines["ingress"] = [line for _, line in sorted(lines["ingress"])]
    for end, init in ends.items():
        head = f"# 'mm-tunnel{'client' if end == 'egress' else 'server'}' {end}: {init:.3f}"
        text = "\n".join([head, *lines[end]])
        (folder / f"{name}_flow1_uid{uid}.log.{end}").write_text(f"{text}\n")


order = list(SCHEMES)
for run in range(1, RUNS + 1):
    for scheme in order:
        rate, delay = SCHEMES[scheme]
        tunnel_logs(f"{scheme}_datalink_run{run}", rate * rng.gauss(1, 0.02), delay * rng.gauss(1, 0.05))
        clocks = "".join(f"{side} clock offset: {offset} ms\n" for side, offset in OFFSETS.items())
        at = [(began + timedelta(seconds=s)).strftime("%Y-%m-%d %H:%M:%S") for s in (0, RUNTIME)]
        stats = f"Start at: {at[0]}\nEnd at: {at[1]}\n{clocks}"
        (folder / f"{scheme}_stats_run{run}.log").write_text(stats)
        began += timedelta(seconds=RUNTIME + 5)
metadata = {
    "cc_schemes": sorted(SCHEMES), "flows": 1, "mode": "remote", "run_times": RUNS, "runtime": RUNTIME, "sender_side": "local",
}  # fmt: skip
(folder / "pantheon_metadata.json").write_text(json.dumps(metadata))
with tarfile.open("nepal-logs.tar.xz", "w:xz") as archive:
    archive.add(folder, "nepal-logs")
