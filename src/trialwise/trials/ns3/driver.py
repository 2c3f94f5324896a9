# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What runs in ns-3's own interpreter: simulates one trial after the other, each as a request says.

Run as a script by its path, in a process of its own, with nothing of Trialwise imported: this text is Trialwise's, ns-3 (GPL-2.0-only)
is a program that it uses here, and neither contains, nor is linked with, the other's code outside this process.

Arguments: a folder with the named pipes `requests` and `answers`, which is removed once they are open. A line of JSON is read for
each trial and answered by one; the first line that is written says that trials can come. With "-" for the folder, the version of
ns-3 and the files that it consists of are printed, and nothing of it is loaded.

A request has `nodes` (their number), `links` (first node, second node, bit/s, delay), `buffers` and `thresholds` (bytes, for each
link; threshold 0 for no marks), `flows` (source, destination, bytes, start), `hops` (the most ports that a flow crosses), `routes`
and `replies` (ports that data and acknowledgements of one flow after the other cross, `hops` for each, -1 beyond the end),
`attributes` (defaults of ns-3 by their names, as texts), `apart` (between the handshakes of two flows), `lead` (between the first
handshake and the time 0 of flows), `stop` (0 for when the last flow has ended) and `seed`. Times are picoseconds.
"""

import ctypes
import importlib
import importlib.metadata
import json
import shutil
import signal
import sys
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer requests until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks decides when it is enough
    if sys.argv[1] == "-":
        print(json.dumps(installed()))
        return
    folder = Path(sys.argv[1])
    with (folder / "requests").open() as requests, (folder / "answers").open("w") as answers:
        shutil.rmtree(folder)
        ns, ours = load()
        print("{}", file=answers, flush=True)
        for request in requests:
            print(json.dumps(answer(ns, ours, json.loads(request))), file=answers, flush=True)


def installed() -> dict[str, Any]:
    """The version of ns-3, and its libraries that trials use."""
    used = ("core", "network", "internet", "point-to-point", "traffic-control")
    return {"version": importlib.metadata.version("ns3"), "libraries": sorted(libraries(used))}


def libraries(names: Sequence[str]) -> list[str]:
    """The files of ns-3's libraries of these names."""
    files = importlib.metadata.files("ns3") or ()
    found = [str(file.locate()) for file in files if file.suffix == ".so"]
    return [file for file in found if Path(file).stem.split("-", 1)[-1] in names]


def load() -> tuple[Any, Any]:
    """ns-3 and our network in it; times are whole picoseconds from now on."""
    del sys.path[0]  # this file's folder, whose modules are none of ns-3's
    # ns-3 reads headers before it loads libraries, and one of them calls its core at once, of which Cling would complain.
    for core in libraries(("core",)):
        ctypes.CDLL(core, ctypes.RTLD_GLOBAL)
    cppyy: Any = importlib.import_module("cppyy")
    ns: Any = importlib.import_module("ns").ns
    for header in ("routing.hpp", "hosts.hpp", "network.hpp"):
        cppyy.cppdef(Path(__file__).with_name(header).read_text(encoding="utf-8"))
    ns.Time.SetResolution(ns.Time.PS)
    return ns, cppyy.gbl.trialwise


def answer(ns: Any, ours: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Simulate one trial: completion times by flow (picoseconds, -1 for none), and what ns-3 counted."""
    ns.Config.Reset()
    for name, text in request["attributes"].items():
        ns.Config.SetDefault(name, ns.StringValue(text))
    ns.RngSeedManager.SetSeed(1)
    ns.RngSeedManager.SetRun(request["seed"])
    ns.RngSeedManager.ResetNextStreamIndex()
    network = ours.Network(request["nodes"])
    try:
        build(network, request)
        before = time.process_time()
        network.Run(request["stop"] and request["lead"] + request["stop"])
        seconds = time.process_time() - before
        return results(network, request, seconds)
    finally:
        ns.Simulator.Destroy()
        network.__destruct__()


def build(network: Any, request: dict[str, Any]) -> None:
    """Links, routes and flows."""
    for link, buffer, threshold in zip(
        request["links"], request["buffers"], request["thresholds"], strict=True
    ):
        network.AddLink(*link, buffer, threshold)
    ports = [array("i", request[name]) for name in ("routes", "replies")]
    network.SetRoutes(len(request["flows"]), request["hops"], *ports)
    for number, (*ends, size, start) in enumerate(request["flows"]):
        network.AddFlow(*ends, size, number * request["apart"], request["lead"] + start)


def results(network: Any, request: dict[str, Any], seconds: float) -> dict[str, Any]:
    """What came of it; `seconds` of processor time went by in Simulator::Run."""
    ports = range(2 * len(request["links"]))
    return {
        "completion": [int(time) for time in network.CompletionTimes()],
        "end": int(network.End()) - request["lead"],
        "events": int(network.Events()),
        "resent": int(network.Resent()),
        "marks": [int(network.Marks(port)) for port in ports],
        "drops": [int(network.Drops(port)) for port in ports],
        "sent": [int(network.Sent(port)) for port in ports],
        "seconds": seconds,
    }


if __name__ == "__main__":
    main()
