"""Shown in measure-inside-a-python-program.md."""

from trialwise.measurement import Point

request = Point("request", size="uint32", seconds=float, kind=str)
batch = Point("batch", x=int, y=float)

for size in range(100):
    with request.timed("seconds", kind="get") as sample:
        sample["size"] = size

batch.inject(1, 2.5)
batch.inject(x=2, y=3.5)
batch.inject_batch(x=[3, 4, 5], y=[1.0, 2.0, 3.0])
