"""ns-3 on the dumbbell with a given flow list: TCP under RED that marks. Run by benches/simulator.py in an environment with `ns3`.

    PYTHON_WITH_NS3 benches/ns3/dumbbell.py FLOWS.csv

FLOWS.csv has the columns flow_id, src, dst, size_bytes, start_ns. Prints, as JSON, the processor time of Simulator::Run, and the
packets that its devices received (packet-hops): counting them is about 8 % of that time.
Ten hosts on each side, 100 Gbit/s, 1 us; DCTCP, everything marked beyond 300 kB.
"""

import argparse
import csv
import json
import time
from pathlib import Path
from types import ModuleType

CPP = r"""
#include <map>
#include <vector>
#include <algorithm>
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/applications-module.h"
namespace trial {
using namespace ns3;
std::vector<int64_t> last;       // by flow: when its receiver had the last byte
std::vector<uint64_t> got, want;
uint64_t hops = 0, unfinished = 0;
void Received(int flow, Ptr<const Packet> packet, const Address&) {
  got[flow] += packet->GetSize();
  if (got[flow] >= want[flow] && last[flow] < 0) {
    last[flow] = Simulator::Now().GetNanoSeconds();
    if (--unfinished == 0) Simulator::Stop();
  }
}
void Hop(Ptr<const Packet>) { ++hops; }
void Prepare(std::vector<uint64_t> sizes) {
  want = sizes; got.assign(sizes.size(), 0); last.assign(sizes.size(), -1); unfinished = sizes.size();
}
void WatchSink(Ptr<Application> sink, int flow) {
  sink->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, flow));
}
void CountHops(Ptr<NetDevice> device) { device->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Hop)); }
void Run() { Simulator::Run(); }
}
"""


RATE, DELAY, SIDE, MARK_BYTES, BUFFER = "100Gbps", "1us", 10, 300_000, "33554432B"
WINDOW = 78
"""Packets of 1000 bytes in flight at first: one bandwidth-delay product, as the senders of the simulator begin."""

Network = tuple[object, list[object]]


def set_defaults(ns: ModuleType, tcp: str) -> None:
    default = ns.Config.SetDefault
    default("ns3::TcpL4Protocol::SocketType", ns.StringValue("ns3::" + tcp))
    default("ns3::TcpSocket::SegmentSize", ns.UintegerValue(1000))
    default("ns3::TcpSocket::SndBufSize", ns.UintegerValue(1 << 26))
    default("ns3::TcpSocket::RcvBufSize", ns.UintegerValue(1 << 26))
    default("ns3::TcpSocket::InitialCwnd", ns.UintegerValue(WINDOW))
    default("ns3::TcpSocket::DelAckCount", ns.UintegerValue(1))
    default("ns3::TcpSocketBase::MinRto", ns.TimeValue(ns.MilliSeconds(4)))
    default("ns3::TcpSocketBase::ClockGranularity", ns.TimeValue(ns.MicroSeconds(1)))
    default("ns3::TcpSocketBase::UseEcn", ns.StringValue("On"))


def build_network(ns: ModuleType, trial: ModuleType) -> Network:
    """Hosts and links of the dumbbell; gives the hosts and their addresses."""
    hosts, switches = ns.NodeContainer(), ns.NodeContainer()
    hosts.Create(2 * SIDE)
    switches.Create(2)
    ns.InternetStackHelper().InstallAll()
    link = ns.PointToPointHelper()
    link.SetDeviceAttribute("DataRate", ns.StringValue(RATE))
    link.SetChannelAttribute("Delay", ns.StringValue(DELAY))
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.QueueSizeValue(ns.QueueSize("1p")))
    queue = ns.TrafficControlHelper()
    threshold = ns.DoubleValue(MARK_BYTES)
    queue.SetRootQueueDisc(
        "ns3::RedQueueDisc",
        *("UseEcn", ns.BooleanValue(True), "UseHardDrop", ns.BooleanValue(False), "QW", ns.DoubleValue(1.0)),
        *("MaxSize", ns.QueueSizeValue(ns.QueueSize(BUFFER)), "MinTh", threshold, "MaxTh", threshold),
        *("LinkBandwidth", ns.StringValue(RATE), "LinkDelay", ns.StringValue(DELAY)),
    )
    addresses = ns.Ipv4AddressHelper()
    pairs = [(hosts.Get(host), switches.Get(host // SIDE)) for host in range(2 * SIDE)]
    of_host = []
    for number, ends in enumerate([*pairs, (switches.Get(0), switches.Get(1))], start=1):
        devices = link.Install(*ends)
        queue.Install(devices)
        addresses.SetBase(ns.Ipv4Address(f"10.0.{number}.0"), ns.Ipv4Mask("255.255.255.0"))
        of_host.append(addresses.Assign(devices).GetAddress(0))
        trial.CountHops(devices.Get(0))
        trial.CountHops(devices.Get(1))
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    return hosts, of_host


def add_flow(ns: ModuleType, trial: ModuleType, network: Network, number: int, flow: dict[str, str]) -> None:
    hosts, of_host = network
    source, destination, port = int(flow["src"]), int(flow["dst"]), 1000 + number
    here = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), port).ConvertTo()
    there = ns.InetSocketAddress(of_host[destination], port).ConvertTo()
    sinks = ns.PacketSinkHelper("ns3::TcpSocketFactory", here).Install(hosts.Get(destination))
    sinks.Start(ns.Seconds(0))
    trial.WatchSink(sinks.Get(0), number)
    sender = ns.BulkSendHelper("ns3::TcpSocketFactory", there)
    sender.SetAttribute("MaxBytes", ns.UintegerValue(int(flow["size_bytes"])))
    sender.SetAttribute("SendSize", ns.UintegerValue(1 << 20))
    sender.Install(hosts.Get(source)).Start(ns.NanoSeconds(int(flow["start_ns"])))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("flows", type=Path)
    parser.add_argument("--tcp", default="TcpDctcp")
    options = parser.parse_args()
    with options.flows.open() as file:
        flows = list(csv.DictReader(file))
    begin = time.process_time()
    import cppyy
    from ns import ns

    cppyy.cppdef(CPP)
    imported = time.process_time()
    trial = cppyy.gbl.trial
    set_defaults(ns, options.tcp)
    network = build_network(ns, trial)
    trial.Prepare([int(flow["size_bytes"]) for flow in flows])
    for number, flow in enumerate(flows):
        add_flow(ns, trial, network, number, flow)
    ns.Simulator.Stop(ns.Seconds(10))
    built = time.process_time()
    trial.Run()
    seconds = time.process_time() - built
    times = [int(end) - int(flow["start_ns"]) for end, flow in zip(trial.last, flows, strict=True)]
    row = {
        "tcp": options.tcp,
        "unfinished": sum(int(end) < 0 for end in trial.last),
        "import_s": round(imported - begin, 2),
        "build_s": round(built - imported, 2),
        "run_s": round(seconds, 3),
        "packet_hops": int(trial.hops),
        "ns_per_hop": round(seconds / int(trial.hops) * 1e9),
        "mean_fct_us": round(sum(times) / len(times) / 1e3, 1),
    }
    print(json.dumps(row))


main()
