"""Shown in measure-inside-a-python-program.md."""

import sys

from trialwise.measurement import Client

with Client(arguments=sys.argv) as client:
    load = client.point("load", value=float)
    client.metadata("unit", "percent", point=load, field="value")
    for value in range(1000):
        load.inject(value)
