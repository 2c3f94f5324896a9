// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Routes by flow in ns-3: each packet goes where the flow that it belongs to was told to go, so that equal-cost paths are those that
// whoever asks has chosen. driver.py has ns-3's own interpreter compile it: this text is Trialwise's, nothing of ns-3 is in it, and
// neither is linked with Trialwise.

#include <cstdint>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

namespace trialwise
{

using namespace ns3;

/// Out through a device with an address to whatever is at the other end of its link.
inline Ptr<Ipv4Route>
WayThrough(Ptr<NetDevice> device, Ipv4Address address)
{
    auto way = Create<Ipv4Route>();
    way->SetOutputDevice(device);
    way->SetSource(address);
    way->SetGateway(Ipv4Address::GetZero());
    return way;
}

/// The ports that packets of each flow cross (twice the place of a link, and 1 more at its second end).
///
/// Both ends of flow n have the TCP port FIRST_PORT + n, so that every packet says which flow it is of; its time to live says how
/// far it is.
class FlowRoutes
{
  public:
    static constexpr uint16_t FIRST_PORT = 1024;
    static constexpr uint8_t FIRST_TTL = 255;

    /// The next port is that of a device with an address.
    void
    AddPort(Ptr<NetDevice> device, Ipv4Address address)
    {
        m_ways.push_back(WayThrough(device, address));
    }

    /// For each flow, `longest` ports of its data and as many of its acknowledgements; -1 beyond their ends.
    void
    SetFlows(uint32_t flows, uint32_t longest, const int32_t* data, const int32_t* replies)
    {
        m_longest = longest;
        m_data.assign(data, data + flows * longest);
        m_replies.assign(replies, replies + flows * longest);
    }

    /// The TCP port of both ends of a flow.
    static uint16_t
    TcpPort(uint32_t flow)
    {
        return FIRST_PORT + flow;
    }

    /// The flow that a packet of TCP is of, from either end.
    static uint32_t
    FlowOf(Ptr<const Packet> packet)
    {
        uint8_t source[2]; // a TCP header begins with the port of the sender
        packet->CopyData(source, sizeof source);
        return (source[0] << 8 | source[1]) - FIRST_PORT;
    }

    /// The address of a flow's receiver.
    Ipv4Address
    Receiver(uint32_t flow) const
    {
        return m_ways.at(m_replies.at(flow * m_longest))->GetSource();
    }

    /// Out of a switch, for a packet of TCP that has come to it; null for one that is of no flow here.
    Ptr<Ipv4Route>
    Next(Ptr<const Packet> packet, const Ipv4Header& header) const
    {
        const uint32_t flow = FlowOf(packet);
        const uint32_t hop = 1 + FIRST_TTL - header.GetTtl();
        const size_t place = size_t{flow} * m_longest + hop;
        if (hop >= m_longest || place >= m_data.size())
        {
            return nullptr;
        }
        const int32_t port = (header.GetDestination() == Receiver(flow) ? m_data : m_replies)[place];
        return port < 0 ? nullptr : m_ways[port];
    }

  private:
    uint32_t m_longest = 0;
    std::vector<int32_t> m_data, m_replies;
    std::vector<Ptr<Ipv4Route>> m_ways;
};

/// What RouteInput takes for a callback: a copy in ns-3 3.37, a reference in 3.44.
template <typename Method>
struct Taken;

template <typename Packet, typename Header, typename Device, typename F, typename M, typename D, typename E>
struct Taken<bool (Ipv4RoutingProtocol::*)(Packet, Header, Device, F, M, D, E)>
{
    using Forward = F;
    using Multicast = M;
    using Deliver = D;
    using Error = E;
};

/// Routing of one node: hosts have one link, and switches ask the routes of flows.
class FlowRouting : public Ipv4RoutingProtocol
{
    using TakenHere = Taken<decltype(&Ipv4RoutingProtocol::RouteInput)>;

  public:
    static TypeId
    GetTypeId()
    {
        static const TypeId type = TypeId("trialwise::FlowRouting").SetParent<Ipv4RoutingProtocol>();
        return type;
    }

    explicit FlowRouting(const FlowRoutes* routes)
        : m_routes(routes)
    {
    }

    Ptr<Ipv4Route>
    RouteOutput(Ptr<Packet>, const Ipv4Header&, Ptr<NetDevice>, Socket::SocketErrno& error) override
    {
        error = m_out ? Socket::ERROR_NOTERROR : Socket::ERROR_NOROUTETOHOST;
        return m_out;
    }

    bool
    RouteInput(Ptr<const Packet> packet,
               const Ipv4Header& header,
               Ptr<const NetDevice>,
               TakenHere::Forward forward,
               TakenHere::Multicast,
               TakenHere::Deliver deliver,
               TakenHere::Error) override
    {
        if (m_out && header.GetDestination() == m_out->GetSource())
        {
            deliver(packet, header, m_interface);
            return true;
        }
        const auto way = m_routes->Next(packet, header);
        if (way)
        {
            forward(way, packet, header);
        }
        return bool(way);
    }

    /// What a host sends goes out of the first link that it gets; switches send nothing of their own.
    void
    NotifyAddAddress(uint32_t interface, Ipv4InterfaceAddress address) override
    {
        if (interface == 0 || m_out) // 0 is the node itself
        {
            return;
        }
        m_interface = interface;
        m_out = WayThrough(m_ipv4->GetNetDevice(interface), address.GetLocal());
    }

    void SetIpv4(Ptr<Ipv4> ipv4) override { m_ipv4 = PeekPointer(ipv4); }
    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  protected:
    void
    DoDispose() override
    {
        m_out = nullptr;
        Ipv4RoutingProtocol::DoDispose();
    }

  private:
    const FlowRoutes* m_routes;
    Ipv4* m_ipv4 = nullptr; // it has us
    uint32_t m_interface = 0;
    Ptr<Ipv4Route> m_out;
};

/// Gives every node its routing.
class FlowRoutingHelper : public Ipv4RoutingHelper
{
  public:
    explicit FlowRoutingHelper(const FlowRoutes* routes)
        : m_routes(routes)
    {
    }

    FlowRoutingHelper* Copy() const override { return new FlowRoutingHelper(*this); }
    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override { return CreateObject<FlowRouting>(m_routes); }

  private:
    const FlowRoutes* m_routes;
};

} // namespace trialwise
