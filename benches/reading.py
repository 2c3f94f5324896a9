"""Reading large files of results, beside `json.load` and `polars.read_csv` of the same file: processor time, and memory.

    .venv/bin/python benches/reading.py [MEGABYTES]

Each measurement is a process of its own; its memory is the most that it held beside what it held after the imports. Allowed:
10 s and four times the file for 500 MB of JSON (2 s for the 100 MB here), of which one part is the file itself, and for a million rows
of CSV; 20 s for 10,000 files of iperf3. What a table of four rows takes is in every other figure, too: libraries that are loaded for
the first file, and threads.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import write

MEBIBYTE = 1 << 20
ROWS, FILES = 1_000_000, 10_000
MEGABYTES = int(sys.argv[1]) if len(sys.argv) > 1 else 100
MEASURE = """
import json, resource, sys, time
from pathlib import Path
import polars as pl
from trialwise.readers.gathering import gather
from trialwise.study.looking import look
def most(): return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
path = Path(sys.argv[2])
ways = {"gather": lambda: gather([path]), "look": lambda: look([path]), "json.load": lambda: json.load(path.open()),
        "polars.read_csv": lambda: pl.read_csv(path)}
before, begin = most(), time.process_time()
kept = ways[sys.argv[1]]()
print(json.dumps([time.process_time() - begin, most() - before]))
"""
IPERF3 = Path(__file__).parents[1] / "tests/golden/formats/data/iperf3/omitted.json"
POINTS = Path(__file__).parents[1] / "tests/golden/formats/data/k6/points.jsonl"
CLONES = Path(__file__).parents[1] / "tests/golden/formats/data/fio/clones.json"


def measured(way: str, path: Path) -> tuple[float, float]:
    """Seconds of processor time and MiB."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, way, str(path)], capture_output=True, check=True, text=True
    )
    seconds, memory = json.loads(done.stdout)
    return seconds, memory


def write_csv(path: Path, rng: random.Random) -> None:
    with path.open("w") as file:
        file.write("scheme,run,rate_mbit,delay_ms\n")
        for row in range(ROWS):
            file.write(f"{'abcd'[row % 4]},{row // 4},{rng.gauss(100, 5):.4f},{rng.gauss(20, 1):.3f}\n")


def write_hyperfine(path: Path, rng: random.Random) -> None:
    """Half of the file for each of two commands."""
    with path.open("w") as file:
        file.write('{"results": [')
        for command in ("a", "b"):
            file.write(f'{{"command": "{command}", "mean": 0.1, "times": [0.1')
            while file.tell() < MEGABYTES * 500_000 * (1 + (command == "b")):
                file.write("".join(f", {rng.gauss(0.1, 0.01):.17g}" for _ in range(10_000)))
            file.write("]}" + (", " if command == "a" else "]}\n"))


def write_points(path: Path) -> None:
    text = POINTS.read_bytes()
    metrics = [line for line in text.splitlines(keepends=True) if b'"Metric"' in line]
    points = b"".join(line for line in text.splitlines(keepends=True) if b'"Point"' in line)
    with path.open("wb") as file:
        file.writelines(metrics)
        while file.tell() < MEGABYTES * 1_000_000:
            file.write(points * 100)


def write_repeated(path: Path, begin: str, part: str, between: str, end: str) -> None:
    """Write a part again and again, until the file is large."""
    with path.open("w") as file:
        file.write(begin + part)
        while file.tell() < MEGABYTES * 1_000_000:
            file.write(between + part)
        file.write(end)


def write_google(path: Path, rng: random.Random) -> None:
    rows: list[dict[str, object]] = [
        {
            "name": f"BM_x{at}/8",
            "run_name": f"BM_x{at}/8",
            "run_type": "iteration",
            "repetitions": 10,
            "repetition_index": run,
            "threads": 1,
            "iterations": 12345,
            "real_time": rng.gauss(100, 5),
            "cpu_time": rng.gauss(99, 5),
            "time_unit": "ns",
        }
        for at in range(200)
        for run in range(10)
    ]
    part = ",\n".join(json.dumps(row, indent=2) for row in rows)
    write_repeated(path, '{"context": {"library_version": "1.9"}, "benchmarks": [', part, ",\n", "]}\n")


def write_pyperf(path: Path, rng: random.Random) -> None:
    runs = [
        {
            "metadata": {"date": f"2026-01-01 00:{run // 60:02d}:{run % 60:02d}.000000", "duration": 0.5},
            "values": [rng.gauss(0.1, 0.01) for _ in range(20)],
            "warmups": [[1, 0.1]],
        }
        for run in range(1000)
    ]
    part = ",".join(json.dumps(run) for run in runs)
    begin = '{"version": "1.0", "metadata": {}, "benchmarks": [{"metadata": {"name": "a"}, "runs": ['
    write_repeated(path, begin, part, ",", "]}]}\n")


def write_fio(path: Path) -> None:
    document = json.loads(CLONES.read_text())
    jobs = [{**document["jobs"][0], "jobname": f"job{number}"} for number in range(500)]
    part = ",".join(json.dumps(job, indent=2) for job in jobs)
    write_repeated(path, '{"fio version": "fio-3.33", "jobs": [', part, ",", "]}\n")


def write_vegeta(path: Path, rng: random.Random) -> None:
    lines = [
        f'{{"attack":"","seq":{at},"code":200,"timestamp":"2026-01-01T00:00:{at // 1000:02d}.{at % 1000:03d}000000Z",'
        f'"latency":{rng.gauss(1e6, 1e5):.0f},"bytes_out":0,"bytes_in":12,"error":"","body":null,"method":"GET"}}\n'
        for at in range(10_000)
    ]
    write_repeated(path, "", "".join(lines), "", "")


def write_folder(folder: Path) -> None:
    folder.mkdir()
    document = json.loads(IPERF3.read_text())
    for number in range(FILES):
        document["start"]["timestamp"]["timesecs"] += 10
        document["start"]["cookie"] = str(number)
        (folder / f"{'ab'[number % 2]}_{number // 2}.json").write_text(json.dumps(document))


def row(what: str, path: Path, ways: tuple[str, ...], beside: str | None) -> dict[str, object]:
    size = path.stat().st_size / 1e6 if path.is_file() and path.stat().st_size > MEBIBYTE else None
    found: dict[str, object] = {"what": what} | ({"MB": round(size)} if size else {})
    found["load"] = round(os.getloadavg()[0], 1)
    base = measured(beside, path)[0] if beside else 0.0
    for way in ways:
        seconds, memory = measured(way, path)
        found |= {f"{way}_s": round(seconds, 2), f"{way}_MiB": round(memory)}
        if size:
            found[f"{way}_times_the_file"] = round(memory * 1.048576 / size, 1)
        if beside:
            found[f"{way}_of_{beside}"] = round(seconds / base, 2)
    return found


def main() -> None:
    rng = random.Random(1)  # noqa: S311  no secret
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "few.csv").write_text("scheme,run,rate_mbit\na,0,100.5\nb,0,90.5\na,1,101.5\nb,1,91\n")
        write_csv(folder / "rows.csv", rng)
        write_hyperfine(folder / "runs.json", rng)
        write_google(folder / "google.json", rng)
        write_pyperf(folder / "pyperf.json", rng)
        write_fio(folder / "fio.json")
        write_points(folder / "points.jsonl")
        write_vegeta(folder / "vegeta.jsonl", rng)
        write_folder(folder / "iperf3")
        ways = ("gather", "look")
        write(
            "reading",
            [
                row("four rows of CSV", folder / "few.csv", ways, None),
                row("a million rows of CSV", folder / "rows.csv", ways, "polars.read_csv"),
                row("runs of hyperfine", folder / "runs.json", ways, "json.load"),
                row("repetitions of Google Benchmark", folder / "google.json", ways, "json.load"),
                row("runs of pyperf, of 20 values", folder / "pyperf.json", ways, "json.load"),
                row("jobs of fio", folder / "fio.json", ways, "json.load"),
                row("points of k6", folder / "points.jsonl", ways, None),
                row("requests of vegeta", folder / "vegeta.jsonl", ways, None),
                row("10,000 files of iperf3", folder / "iperf3", ways, None),
            ],
        )


if __name__ == "__main__":
    main()
