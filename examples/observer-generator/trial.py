"""One trial: runs the generator, adds up what it reported, and compares that with what arrived.

python3 trial.py GENERATOR FLAVOUR THREADS RATE SECONDS FOLDER
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILTER = """
[[collect]]
url = "file:{rows}"
encoding = "text"

[[collect.stream]]
point = "packet"
interval = 0.1
filter = [{{ field = "packets", operation = "sum" }}, {{ field = "number", operation = "loss" }}]
"""


def main(generator: str, flavour: str, threads: str, rate: str, seconds: str, folder: str) -> None:
    rows = Path(folder) / "rows.txt"
    options = ["--oml-collect", f"file:{rows}"]
    if flavour == "filter":
        config = Path(folder) / "streams.toml"
        config.write_text(FILTER.format(rows=rows))
        options = ["--oml-config", str(config)]
    point = "packet" if flavour == "filter" else flavour
    done = subprocess.run(
        [generator, point, threads, rate, seconds, *options], stdout=subprocess.PIPE, text=True, check=True
    )
    found = json.loads(done.stdout)
    column = {"interval": "packets", "filter": "packets_sum"}.get(flavour)
    told = found["sent"] if flavour == "none" else reported(rows, f"generator_{point}", column)
    arrived = found["arrived"]
    print(
        json.dumps(
            {
                "rate": arrived / found["seconds"] / 1000,
                "processor": 100 * found["processor"] / found["seconds"],
                "memory": found["memory"] / 1024,
                "report": 100 * (told - arrived) / arrived,
            }
        )
    )


def reported(rows: Path, stream: str, column: str | None) -> int:
    """Packets that the rows of a stream speak of: one each, or the sum of a column."""
    wanted, place, total = None, 0, 0
    with rows.open() as lines:
        for line in lines:
            if line.startswith("schema:"):
                _, number, name, *fields = line.split()
                if name == stream:
                    wanted = number
                    names = [field.split(":")[0] for field in fields]
                    place = 3 + names.index(column) if column else 0
            elif wanted is not None:
                cells = line.rstrip("\n").split("\t")
                if len(cells) > 3 and cells[1] == wanted:
                    total += int(float(cells[place])) if column else 1
    return total


main(*sys.argv[1:])
