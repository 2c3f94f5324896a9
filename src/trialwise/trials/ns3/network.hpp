// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A network of TCP flows in ns-3. driver.py has ns-3's own interpreter compile it: this text is Trialwise's, nothing of ns-3 is in it,
// and neither is linked with Trialwise.
//
// Hosts have one link. Every port has a queue of its own that marks beyond a threshold; routes are those that are given (routing.hpp),
// and each flow has a TCP of its own (hosts.hpp), both of which are compiled before this.
// A flow's connection is opened before the first flow starts, so that no handshake is in its time, and stays open after the last
// byte is acknowledged, so that nothing but data and acknowledgements is on the way.

#include <cstdint>
#include <memory>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

namespace trialwise
{

using namespace ns3;

/// Counts the flows that have not ended, and ends the simulation with the last of them.
struct Progress
{
    uint64_t unfinished = 0;
    uint64_t resent = 0;

    void
    FlowEnded()
    {
        if (--unfinished == 0)
        {
            Simulator::Stop();
        }
    }

    void
    Resent(Ptr<const Packet>, const TcpHeader&, const Address&, const Address&, Ptr<const TcpSocketBase>)
    {
        ++resent;
    }
};

/// One flow: a connection that is opened early, and data that is handed to it at the start.
class Flow
{
  public:
    Flow(Progress* progress, uint64_t size)
        : m_progress(progress),
          m_left(size)
    {
    }

    /// Both ends have the same TCP port.
    void
    Open(HostTcp* source, HostTcp* destination, Ipv4Address address, uint32_t number)
    {
        const uint16_t port = FlowRoutes::TcpPort(number);
        m_listening = destination->SocketOf(number);
        m_listening->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        m_listening->Listen();
        m_listening->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                       MakeCallback(&Flow::Accept, this));
        m_sending = source->SocketOf(number);
        m_sending->TraceConnectWithoutContext("Retransmission", MakeCallback(&Progress::Resent, m_progress));
        m_sending->SetConnectCallback(MakeCallback(&Flow::Connected, this), MakeNullCallback<void, Ptr<Socket>>());
        m_sending->SetSendCallback(MakeCallback(&Flow::Room, this));
        m_sending->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        m_sending->Connect(InetSocketAddress(address, port));
    }

    void
    Begin()
    {
        m_begun = Simulator::Now();
        m_hasBegun = true;
        if (m_isConnected)
        {
            Fill();
        }
    }

    /// From the start to the acknowledgement of the last byte, in picoseconds; -1 while that is to come.
    int64_t
    CompletionTime() const
    {
        return m_completion;
    }

  private:
    static constexpr uint64_t PART = 1 << 20;

    void
    Accept(Ptr<Socket> socket, const Address&)
    {
        m_receiving = socket;
        socket->SetRecvCallback(MakeCallback(&Flow::Read, this));
    }

    void
    Read(Ptr<Socket> socket)
    {
        while (socket->Recv())
        {
        }
    }

    void
    Connected(Ptr<Socket>)
    {
        m_isConnected = true;
        if (m_hasBegun)
        {
            Fill();
        }
    }

    /// The buffer has as much room as an acknowledgement gave back; all of it once everything is acknowledged.
    void
    Room(Ptr<Socket>, uint32_t room)
    {
        if (!m_isFilled || m_completion >= 0)
        {
            return;
        }
        if (m_left > 0)
        {
            Fill();
        }
        else if (room == m_buffer)
        {
            m_completion = (Simulator::Now() - m_begun).GetPicoSeconds();
            m_progress->FlowEnded();
        }
    }

    void
    Fill()
    {
        if (!m_isFilled)
        {
            m_buffer = m_sending->GetTxAvailable();
            m_isFilled = true;
        }
        while (m_left > 0)
        {
            const uint64_t room = m_sending->GetTxAvailable();
            const uint64_t part = std::min({m_left, room, PART});
            if (part == 0 || m_sending->Send(Create<Packet>(part)) < 0)
            {
                return;
            }
            m_left -= part;
        }
    }

    Progress* m_progress;
    uint64_t m_left;
    uint32_t m_buffer = 0;
    bool m_isConnected = false, m_hasBegun = false, m_isFilled = false;
    Time m_begun;
    int64_t m_completion = -1;
    Ptr<Socket> m_listening, m_sending, m_receiving;
};

/// Nodes, links, routes and flows of one trial.
class Network
{
  public:
    explicit Network(uint32_t nodes)
    {
        Ipv4AddressGenerator::Reset();
        Config::SetDefault("ns3::Ipv4L3Protocol::DefaultTtl", UintegerValue(FlowRoutes::FIRST_TTL));
        m_nodes.Create(nodes);
        InternetStackHelper stack;
        stack.SetRoutingHelper(FlowRoutingHelper(&m_routes));
        stack.SetIpv6StackInstall(false);
        stack.Install(m_nodes);
        for (auto node = m_nodes.Begin(); node != m_nodes.End(); ++node)
        {
            m_tcps.push_back(HostTcp::Install(*node));
        }
        m_addresses.SetBase("10.0.0.0", "255.255.255.252");
    }

    /// A link with a queue of `buffer` bytes at each end that marks beyond `threshold` bytes; 0 for no marks.
    void
    AddLink(uint32_t first, uint32_t second, uint64_t rate, int64_t delay, uint64_t buffer, uint64_t threshold)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
        link.SetChannelAttribute("Delay", TimeValue(PicoSeconds(delay)));
        // What waits is to wait where it is marked.
        link.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize("1p")));
        const NetDeviceContainer devices = link.Install(m_nodes.Get(first), m_nodes.Get(second));
        TrafficControlHelper control;
        const QueueSizeValue most(QueueSize(QueueSizeUnit::BYTES, buffer));
        if (threshold > 0)
        {
            const DoubleValue length(threshold);
            // The length of the instant (a weight of 1), all beyond one threshold.
            control.SetRootQueueDisc("ns3::RedQueueDisc",
                                     "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false),
                                     "Gentle", BooleanValue(false), "QW", DoubleValue(1.0),
                                     "MinTh", length, "MaxTh", length, "MaxSize", most,
                                     "LinkBandwidth", DataRateValue(DataRate(rate)),
                                     "LinkDelay", TimeValue(PicoSeconds(delay)));
        }
        else
        {
            control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", most);
        }
        const QueueDiscContainer queues = control.Install(devices);
        const Ipv4InterfaceContainer ends = m_addresses.Assign(devices);
        m_addresses.NewNetwork();
        for (uint32_t end : {0, 1})
        {
            m_queues.push_back(queues.Get(end));
            m_devices.push_back(devices.Get(end));
            m_routes.AddPort(devices.Get(end), ends.GetAddress(end));
        }
    }

    /// The routes of all flows, before any is added.
    void
    SetRoutes(uint32_t flows, uint32_t longest, const int32_t* data, const int32_t* replies)
    {
        m_routes.SetFlows(flows, longest, data, replies);
    }

    /// The next flow: its handshake begins at `opened` and its data at `start` (picoseconds).
    void
    AddFlow(uint32_t source, uint32_t destination, uint64_t size, int64_t opened, int64_t start)
    {
        const uint32_t number = m_flows.size();
        m_flows.push_back(std::make_unique<Flow>(&m_progress, size));
        Flow* flow = m_flows.back().get();
        ++m_progress.unfinished;
        Simulator::Schedule(PicoSeconds(opened), &Flow::Open, flow, PeekPointer(m_tcps.at(source)),
                            PeekPointer(m_tcps.at(destination)), m_routes.Receiver(number), number);
        Simulator::Schedule(PicoSeconds(start), &Flow::Begin, flow);
    }

    /// Run until the last flow ends, or until `stop` (picoseconds; 0 for never).
    void
    Run(int64_t stop)
    {
        if (stop > 0)
        {
            Simulator::Stop(PicoSeconds(stop));
        }
        Simulator::Run();
        m_end = Simulator::Now().GetPicoSeconds();
        m_events = Simulator::GetEventCount();
    }

    std::vector<int64_t>
    CompletionTimes() const
    {
        std::vector<int64_t> times;
        for (const auto& flow : m_flows)
        {
            times.push_back(flow->CompletionTime());
        }
        return times;
    }

    int64_t End() const { return m_end; }
    uint64_t Events() const { return m_events; }
    uint64_t Resent() const { return m_progress.resent; }
    uint64_t Marks(uint32_t port) const { return m_queues.at(port)->GetStats().nTotalMarkedPackets; }
    uint64_t Drops(uint32_t port) const { return m_queues.at(port)->GetStats().nTotalDroppedPackets; }

    /// Packets that went out through a port: all of them pass through the queue of its device.
    uint64_t
    Sent(uint32_t port) const
    {
        return DynamicCast<PointToPointNetDevice>(m_devices.at(port))->GetQueue()->GetTotalReceivedPackets();
    }

  private:
    FlowRoutes m_routes;
    NodeContainer m_nodes;
    std::vector<Ptr<HostTcp>> m_tcps;
    Ipv4AddressHelper m_addresses;
    std::vector<Ptr<QueueDisc>> m_queues;
    std::vector<Ptr<NetDevice>> m_devices;
    Progress m_progress;
    std::vector<std::unique_ptr<Flow>> m_flows;
    int64_t m_end = 0;
    uint64_t m_events = 0;
};

} // namespace trialwise
