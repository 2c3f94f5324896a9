"""Fuzz one parser of foreign files, guided by the coverage of its Python code; `fuzz/run.py` starts it for each.

`python fuzz/readers.py PARSER FOLDER OPTION… CORPUS…`: what FOLDER holds is overwritten, the options are those of libFuzzer, and the
first CORPUS keeps what reaches something new, or is one input to read again. It takes atheris. The parsers are those of
`tests/foreign_readers.py`; the first byte of an input says which of the readers of a parser gets the rest.
"""

from __future__ import annotations

import random
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
SEEDS = 60
MAX_BYTES = 1 << 14
READY = "the reader is ready"


def main(name: str, folder: Path, options: list[str]) -> None:
    """Begin with a sound file and files near it, and change them for ever."""
    import atheris

    with atheris.instrument_imports(include=["trialwise"]):
        from foreign_readers import ADDRESS_SPACE, PARSERS, READERS, changed, read_or_refused
    readers = PARSERS[name]
    rng = random.Random(17)
    folders = [Path(option) for option in options if Path(option).is_dir()]
    if folders:
        for reader, content in near(
            readers, {each: READERS[each][0](folder) for each in readers}, changed, rng
        ):
            at = len(list(folders[0].iterdir()))
            Path(folders[0], f"seed-{at:03d}").write_bytes(bytes([reader]) + content[:MAX_BYTES])

    most_held = 0.0

    def read(content: bytes) -> None:
        nonlocal most_held
        held = (
            read_or_refused(readers[content[0] % len(readers)], folder / "x.log", content[1:])
            if content
            else 0
        )
        if held > most_held + 1:
            most_held = held
            print(f"held {held:.0f} MiB", file=sys.stderr, flush=True)

    def change(content: bytes, most: int, seed: int) -> bytes:
        if seed % 2 or not content:
            return atheris.Mutate(content, most)
        return (content[:1] + changed(content[1:], random.Random(seed)))[:most]

    atheris.Setup(
        ["readers", f"-max_len={MAX_BYTES}", *options],
        read,
        custom_mutator=change,
    )
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ADDRESS_SPACE, resource.RLIM_INFINITY))
    print(READY, file=sys.stderr, flush=True)
    atheris.Fuzz()


def near(
    readers: tuple[str, ...],
    sound: dict[str, bytes],
    changed: Callable[[bytes, random.Random], bytes],
    rng: random.Random,
) -> Iterator[tuple[int, bytes]]:
    """Sound files, and files near them, with the number of their reader."""
    for number, reader in enumerate(readers):
        yield number, sound[reader]
        for _ in range(SEEDS // len(readers)):
            yield number, changed(sound[reader], rng)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: python fuzz/readers.py PARSER FOLDER OPTION… CORPUS")
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
