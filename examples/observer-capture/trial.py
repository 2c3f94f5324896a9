"""One trial: runs the capture, and holds its report against what the receiver says.

python3 trial.py CAPTURE FLAVOUR RATE SECONDS FOLDER
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean


def main(capture: str, flavour: str, rate: str, seconds: str, folder: str) -> None:
    rows = Path(folder) / "rows.txt"
    command = [capture, flavour, rate, seconds, folder, "--oml-collect", f"file:{rows}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    arrived = {
        int(number): (int(sent), int(stamp))
        for number, sent, stamp in (line.split(",") for line in (Path(folder) / "arrived.csv").open())
    }
    told = plain(Path(folder) / "plain.csv") if flavour == "none" else streamed(rows)
    both = [number for number in arrived if number in told]
    late = fmean((told[number] - arrived[number][1]) / 1e3 for number in both)
    true = jitter([(arrived[number][0], arrived[number][1]) for number in both])
    said = jitter([(arrived[number][0], told[number]) for number in both])
    print(
        json.dumps(
            {
                "loss": 100 * (1 - len(both) / len(arrived)),
                "stamp": late,
                "jitter": said - true,
                "processor": 100 * json.loads(done.stdout)["processor"] / float(seconds),
            }
        )
    )


def plain(file: Path) -> dict[int, int]:
    """The time stamp of each packet in nanoseconds, from the capture's own file."""
    with file.open() as lines:
        return {int(number): int(stamp) for number, stamp in (line.split(",") for line in lines)}


def streamed(file: Path) -> dict[int, int]:
    """The same from the rows of its stream."""
    found: dict[int, int] = {}
    start, stream = 0, ""
    with file.open() as lines:
        for line in lines:
            if line.startswith("start-time:"):
                start = int(line.split()[1]) * 10**9
            elif line.startswith("schema:") and line.split()[2] == "capture_packet":
                stream = line.split()[1]
            else:
                cells = line.split("\t")
                if len(cells) == 4 and cells[1] == stream:
                    found[int(cells[3])] = start + round(float(cells[0]) * 1e9)
    return found


def jitter(times: list[tuple[int, int]]) -> float:
    """Mean interarrival jitter of RFC 1889, section 6.3.1, in microseconds, from times sent and arrived in nanoseconds."""
    value, total, before = 0.0, 0.0, None
    for sent, arrived in times:
        transit = (arrived - sent) / 1e3
        if before is not None:
            value += (abs(transit - before) - value) / 16
            total += value
        before = transit
    return total / max(1, len(times) - 1)


main(*sys.argv[1:])
