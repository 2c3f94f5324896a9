"""Instrumented in Python: every sorted block is a sample of measurement point `block`."""

import time

from trialwise.measurement import Point

BLOCKS, SIZE = 60, 10_000

block = Point("block", size="uint32", seconds=float)


def numbers(state: int) -> list[int]:
    """The next block: Marsaglia's xorshift, as in blocks.h."""
    made = []
    for _ in range(SIZE):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        made.append(state)
    return made


def run() -> None:
    """Sort all blocks."""
    state = 1
    for _ in range(BLOCKS):
        made = numbers(state)
        state = made[-1]
        start = time.perf_counter()
        made.sort()
        block.inject(size=SIZE, seconds=time.perf_counter() - start)


run()
