# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The script in ns-3's own interpreter: simulates one trial after the other, each as a request says.

It is run by its path, in a separate process, without importing anything of Trialwise: this text is Trialwise's, ns-3 (GPL-2.0-only)
is a program that it uses here, and neither contains, nor is linked with, the other's code outside this process.

Arguments: a folder with the named pipes `requests` and `answers`, which is removed once they are open. A line of JSON is read for
each trial and answered by one; the first line written signals readiness. With "-" for the folder, the version of
ns-3 and its files are printed, and none of it is loaded.

A request has `nodes` (their number), `links` (first node, second node, bit/s, delay), `buffers` and `thresholds` (bytes, for each
link; threshold 0 for no marks), `flows` (source, destination, bytes, start), `hops` (the most ports that a flow crosses), `routes`
and `replies` (ports that data and acknowledgements of each flow in turn cross, `hops` for each, -1 beyond the end),
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
    """Answer requests until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the requesting side decides when to stop
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
    """Return the version of ns-3, and the libraries that trials use."""
    used = ("core", "network", "internet", "point-to-point", "traffic-control")
    return {"version": importlib.metadata.version("ns3"), "libraries": sorted(libraries(used))}


def libraries(names: Sequence[str]) -> list[str]:
    """Return the files of ns-3's libraries of these names."""
    files = importlib.metadata.files("ns3") or ()
    found = [str(file.locate()) for file in files if file.suffix == ".so"]
    return [file for file in found if Path(file).stem.split("-", 1)[-1] in names]


def load() -> tuple[Any, Any]:
    """Load ns-3 and our network in it; from now on, times are integer picoseconds."""
    del sys.path[0]  # this file's folder, whose modules are not ns-3's
    # ns-3 reads headers before it loads libraries, and one of them immediately calls its core, about which Cling would complain.
    for core in libraries(("core",)):
        ctypes.CDLL(core, ctypes.RTLD_GLOBAL)
    cppyy: Any = importlib.import_module("cppyy")
    ns: Any = importlib.import_module("ns").ns
    for header in ("routing.hpp", "hosts.hpp", "network.hpp"):
        cppyy.cppdef(Path(__file__).with_name(header).read_text(encoding="utf-8"))
    ns.Time.SetResolution(ns.Time.PS)
    return ns, cppyy.gbl.trialwise


def answer(ns: Any, ours: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Simulate one trial: return completion times by flow (picoseconds, -1 for none), and ns-3's counts."""
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
    """Create links, routes and flows."""
    for link, buffer, threshold in zip(
        request["links"], request["buffers"], request["thresholds"], strict=True
    ):
        network.AddLink(*link, buffer, threshold)
    ports = [array("i", request[name]) for name in ("routes", "replies")]
    network.SetRoutes(len(request["flows"]), request["hops"], *ports)
    for number, (*ends, size, start) in enumerate(request["flows"]):
        network.AddFlow(*ends, size, number * request["apart"], request["lead"] + start)


def results(network: Any, request: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return the results; Simulator::Run took `seconds` of processor time."""
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
