// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// TCP of hosts with thousands of flows in ns-3. driver.py has ns-3's own interpreter compile it after routing.hpp: this text is
// Trialwise's, nothing of ns-3 is in it, and neither is linked with Trialwise.

#include <cstdint>
#include <unordered_map>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

namespace trialwise
{

using namespace ns3;

/// Gives each packet of a host to the TCP of its flow.
///
/// ns-3's TCP looks through all connections of a host for each packet, and for each connection that is opened: with one TCP for
/// each flow there are two to look through, the one that listens and the one that came of it.
class HostTcp : public TcpL4Protocol
{
  public:
    static TypeId
    GetTypeId()
    {
        static const TypeId type = TypeId("trialwise::HostTcp").SetParent<TcpL4Protocol>();
        return type;
    }

    /// In place of the TCP that a host with Internet protocols has.
    static Ptr<HostTcp>
    Install(Ptr<Node> host)
    {
        auto tcp = CreateObject<HostTcp>();
        tcp->m_host = host;
        host->GetObject<Ipv4>()->Insert(tcp);
        Simulator::ScheduleDestroy(&Object::Dispose, tcp);
        return tcp;
    }

    /// A socket of a flow that has one of its ends here.
    Ptr<Socket>
    SocketOf(uint32_t flow)
    {
        auto tcp = CreateObject<TcpL4Protocol>();
        tcp->SetNode(m_host);
        tcp->SetDownTarget(MakeCallback(&Ipv4::Send, m_host->GetObject<Ipv4>()));
        m_flows[flow] = tcp;
        return tcp->CreateSocket();
    }

    RxStatus
    Receive(Ptr<Packet> packet, const Ipv4Header& header, Ptr<Ipv4Interface> interface) override
    {
        const auto found = m_flows.find(FlowRoutes::FlowOf(packet));
        return found == m_flows.end() ? RX_ENDPOINT_UNREACH : found->second->Receive(packet, header, interface);
    }

    using TcpL4Protocol::Receive;

  protected:
    void
    DoDispose() override
    {
        for (const auto& [flow, tcp] : m_flows)
        {
            tcp->Dispose();
        }
        m_flows.clear();
        m_host = nullptr;
        TcpL4Protocol::DoDispose();
    }

  private:
    Ptr<Node> m_host;
    std::unordered_map<uint32_t, Ptr<TcpL4Protocol>> m_flows;
};

} // namespace trialwise
