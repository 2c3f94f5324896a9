"""Fuzz one reader of foreign files, guided by the coverage of its Python code; `fuzz/run.py` starts it for each.

`python fuzz/readers.py READER FOLDER OPTION… CORPUS`: what FOLDER holds is overwritten, the options are those of libFuzzer, and CORPUS
keeps what reaches something new, or is one input to read again. It takes atheris. The readers are those of `tests/foreign_readers.py`.
"""

from __future__ import annotations

import random
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
SEEDS = 60
MOST_BYTES = 1 << 14
READY = "the reader is ready"


def main(name: str, folder: Path, options: list[str]) -> None:
    """Begin with a sound file and files near it, and change them for ever."""
    import atheris

    with atheris.instrument_imports(include=["trialwise"]):
        from foreign_readers import ADDRESS_SPACE, READERS, changed, read_or_refused
    sound = READERS[name][0](folder)
    rng = random.Random(17)
    seeds = [sound, *(changed(sound, rng) for _ in range(SEEDS))] if Path(options[-1]).is_dir() else []
    for at, content in enumerate(seeds):
        Path(options[-1], f"seed-{at:02d}").write_bytes(content[:MOST_BYTES])

    most_held = 0.0

    def read(content: bytes) -> None:
        nonlocal most_held
        held = read_or_refused(name, folder / "x.log", content)
        if held > most_held + 1:
            most_held = held
            print(f"held {held:.0f} MiB", file=sys.stderr, flush=True)

    def change(content: bytes, most: int, seed: int) -> bytes:
        if seed % 2:
            return atheris.Mutate(content, most)
        return changed(content, random.Random(seed))[:most]

    atheris.Setup(
        ["readers", f"-max_len={MOST_BYTES}", *options],
        read,
        custom_mutator=change,
    )
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ADDRESS_SPACE, resource.RLIM_INFINITY))
    print(READY, file=sys.stderr, flush=True)
    atheris.Fuzz()


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: python fuzz/readers.py READER FOLDER OPTION… CORPUS")
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
