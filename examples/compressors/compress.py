"""Compress the first million bytes of the standard library's source files; print ratio and speed as JSON."""

import bz2
import json
import lzma
import sys
import sysconfig
import time
import zlib
from pathlib import Path

SIZE = 1_000_000


def corpus() -> bytes:
    """The source files of the standard library, in order of their names, up to SIZE bytes."""
    parts: list[bytes] = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        parts.append(path.read_bytes())
        if sum(map(len, parts)) >= SIZE:
            break
    return b"".join(parts)[:SIZE]


def compress(compressor: str, level: int, data: bytes) -> bytes:
    """Compress `data` with one of the library's compressors."""
    if compressor == "lzma":
        return lzma.compress(data, preset=level)
    return {"zlib": zlib, "bz2": bz2}[compressor].compress(data, level)


def main() -> None:
    """Measure one compression."""
    data = corpus()
    start = time.perf_counter()
    compressed = compress(sys.argv[1], int(sys.argv[2]), data)
    elapsed = time.perf_counter() - start
    print(json.dumps({"ratio": len(data) / len(compressed), "speed": len(data) / 1e6 / elapsed}))


main()
