// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One trial of an installed ns-3: reads from the standard input what ns3_installed.py writes (words between white space), prints the
// processor time of Simulator::Run in seconds, the packets that all ports sent, and the completion time of each flow (picoseconds,
// -1 for none). The network is the one that `engine = "ns3"` simulates (src/trialwise/trials/ns3), which is compiled with it.

#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "routing.hpp"
#include "hosts.hpp"
#include "network.hpp"

template <typename Number>
Number
Next()
{
    Number number;
    std::cin >> number;
    return number;
}

std::vector<int32_t>
Ports()
{
    std::vector<int32_t> ports(Next<size_t>());
    for (int32_t& port : ports)
    {
        port = Next<int32_t>();
    }
    return ports;
}

void
SetAttributes()
{
    for (auto left = Next<size_t>(); left > 0; --left)
    {
        const auto name = Next<std::string>();
        ns3::Config::SetDefault(name, ns3::StringValue(Next<std::string>()));
    }
}

/// How many there are.
size_t
AddLinks(trialwise::Network& network)
{
    const auto links = Next<size_t>();
    for (size_t left = links; left > 0; --left)
    {
        const auto first = Next<uint32_t>(), second = Next<uint32_t>();
        const auto rate = Next<uint64_t>();
        const auto delay = Next<int64_t>();
        const auto buffer = Next<uint64_t>(), threshold = Next<uint64_t>();
        network.AddLink(first, second, rate, delay, buffer, threshold);
    }
    return links;
}

void
AddFlows(trialwise::Network& network, size_t flows)
{
    for (size_t left = flows; left > 0; --left)
    {
        const auto source = Next<uint32_t>(), destination = Next<uint32_t>();
        const auto size = Next<uint64_t>();
        const auto opened = Next<int64_t>(), start = Next<int64_t>();
        network.AddFlow(source, destination, size, opened, start);
    }
}

double
ProcessorSeconds()
{
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int
main()
{
    ns3::Time::SetResolution(ns3::Time::PS);
    ns3::RngSeedManager::SetSeed(1);
    ns3::RngSeedManager::SetRun(Next<uint64_t>());
    SetAttributes();
    trialwise::Network network(Next<uint32_t>());
    const size_t ports = 2 * AddLinks(network);
    const auto flows = Next<size_t>();
    const auto hops = Next<uint32_t>();
    const std::vector<int32_t> data = Ports(), replies = Ports();
    network.SetRoutes(flows, hops, data.data(), replies.data());
    AddFlows(network, flows);
    if (!std::cin)
    {
        std::cerr << "the request ends early\n";
        return 2;
    }
    const double before = ProcessorSeconds();
    network.Run(0);
    std::cout << ProcessorSeconds() - before << '\n';
    uint64_t sent = 0;
    for (size_t port = 0; port < ports; ++port)
    {
        sent += network.Sent(port);
    }
    std::cout << sent << '\n';
    for (const int64_t time : network.CompletionTimes())
    {
        std::cout << time << '\n';
    }
    return 0;
}
