"""Six small programs that share the folder `work`; one of them forgets a file there, which slows exactly one other.

Usage: programs.py compress|sort|hash|count|index|search SEED

Each reads a text whose length is drawn from SEED: 500 kB, with a standard deviation of 20 %. `index` leaves a file of 500 kB, which
is five of these standard deviations, in the folder; `search` searches the text and all that it finds in the folder; each one
but `index` tidies the folder when it is done, so what `index` leaves is there for the next program only. Each prints as JSON how many
megabytes it went over, and the milliseconds of CPU that this took.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
import time
import zlib
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent / "work"
LINE = b"what one trial leaves behind is part of what the next one measures\n"
MEAN = 500_000
DEVIATION = MEAN // 5
FORGOTTEN = 5 * DEVIATION


def drawn_text(seed: int) -> bytes:
    """Lines of a length, in bytes, that is normal within three standard deviations of the mean."""
    size = MEAN + DEVIATION * max(-3.0, min(3.0, random.Random(seed).gauss(0, 1)))  # noqa: S311
    return LINE * round(size / len(LINE))


def compress(text: bytes) -> int:
    zlib.compress(text, 1)
    return len(text)


def sort(text: bytes) -> int:
    sorted(text.splitlines(), reverse=True)
    return len(text)


def digest(text: bytes) -> int:
    hashlib.sha256(text).digest()
    return len(text)


def count(text: bytes) -> int:
    Counter(text.split())
    return len(text)


def index(text: bytes) -> int:
    places = {line: number for number, line in enumerate(text.splitlines())}
    (FOLDER / "forgotten").write_bytes((LINE * (FORGOTTEN // len(LINE) + len(places)))[:FORGOTTEN])
    return len(text)


def search(text: bytes) -> int:
    texts = [text, *(path.read_bytes() for path in FOLDER.iterdir())]
    pattern = re.compile(rb"\w+(ed|ing|ly)\b")
    sum(1 for each in texts for line in each.splitlines() if pattern.search(line))
    return sum(map(len, texts))


PROGRAMS = {
    "compress": compress, "sort": sort, "hash": digest, "count": count, "index": index, "search": search,
}  # fmt: skip


def main() -> None:
    """Run the program, tidy up unless it is the one that forgets to, and print the work done."""
    name, seed = sys.argv[1], int(sys.argv[2])
    text = drawn_text(seed)
    start = time.process_time()
    done = PROGRAMS[name](text)
    seconds = time.process_time() - start
    if name != "index":
        for path in FOLDER.iterdir():
            path.unlink()
    print(json.dumps({"work": done / 1e6, "cpu": 1e3 * seconds}))


if __name__ == "__main__":
    main()
