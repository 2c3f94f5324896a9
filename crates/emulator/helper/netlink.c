/* Links, addresses and routes by rtnetlink(7), in whichever network namespace the process is in. */

#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of a veth device: whole frames no larger than a slot of the emulator's ring. */
#define PAIR_FRAME 16000
#ifndef RTM_F_FIB_MATCH
#define RTM_F_FIB_MATCH 0x2000
#endif

struct request {
    struct nlmsghdr header;
    char body[1024];
};

int open_netlink(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

static void *end_of(struct request *request)
{
    return (char *)request + NLMSG_ALIGN(request->header.nlmsg_len);
}

static struct request start(uint16_t type, uint16_t flags, const void *body, size_t length)
{
    struct request request = {.header = {NLMSG_LENGTH(length), type, NLM_F_REQUEST | flags, 0, 0}};
    memcpy(request.body, body, length);
    return request;
}

static void append(struct request *request, const void *bytes, size_t length)
{
    memcpy(end_of(request), bytes, length);
    request->header.nlmsg_len = NLMSG_ALIGN(request->header.nlmsg_len) + (uint32_t)length;
}

static struct rtattr *add(struct request *request, uint16_t type, const void *value, size_t length)
{
    struct rtattr *attribute = end_of(request);
    *attribute = (struct rtattr){(uint16_t)RTA_LENGTH(length), type};
    if (length > 0)
        memcpy(RTA_DATA(attribute), value, length);
    request->header.nlmsg_len = NLMSG_ALIGN(request->header.nlmsg_len) + (uint32_t)RTA_LENGTH(length);
    return attribute;
}

static void add_number(struct request *request, uint16_t type, uint32_t value)
{
    add(request, type, &value, sizeof value);
}

static void add_text(struct request *request, uint16_t type, const char *text)
{
    add(request, type, text, strlen(text) + 1);
}

/* What was added since is inside of this one. */
static void close_nest(struct request *request, struct rtattr *nest)
{
    request->header.nlmsg_len = NLMSG_ALIGN(request->header.nlmsg_len);
    nest->rta_len = (uint16_t)((char *)end_of(request) - (char *)nest);
}

/* Sends it and reads one reply; 0 or -1 with errno. */
static int ask(struct request *request, void *reply, size_t space)
{
    union {
        struct nlmsghdr header;
        char bytes[4096];
    } buffer = {0};
    int netlink = open_netlink();
    if (netlink < 0)
        return -1;
    int failed = send(netlink, request, request->header.nlmsg_len, 0) < 0 ||
                 recv(netlink, &buffer, sizeof buffer, 0) < 0;
    int error = errno;
    close(netlink);
    errno = error;
    if (failed)
        return -1;
    if (buffer.header.nlmsg_type == NLMSG_ERROR) {
        errno = -((struct nlmsgerr *)NLMSG_DATA(&buffer.header))->error;
        return errno == 0 ? 0 : -1;
    }
    memcpy(reply, NLMSG_DATA(&buffer.header), space);
    return 0;
}

static int tell(struct request *request)
{
    char nothing[1];
    request->header.nlmsg_flags |= NLM_F_ACK;
    return ask(request, nothing, 0);
}

/* The kernel must not speak on its own there: no link-local address, so no solicitations. One without IPv6 does not. */
static void silence(int index)
{
    struct ifinfomsg link = {.ifi_family = AF_UNSPEC, .ifi_index = index};
    struct request request = start(RTM_NEWLINK, 0, &link, sizeof link);
    struct rtattr *families = add(&request, IFLA_AF_SPEC, NULL, 0);
    struct rtattr *family = add(&request, AF_INET6, NULL, 0);
    uint8_t mode = IN6_ADDR_GEN_MODE_NONE;
    add(&request, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof mode);
    close_nest(&request, family);
    close_nest(&request, families);
    tell(&request);
}

static int bring_up(int index, int mtu, int queue)
{
    struct ifinfomsg link = {.ifi_family = AF_UNSPEC, .ifi_index = index};
    link.ifi_flags = IFF_UP | IFF_NOARP; /* no neighbours */
    link.ifi_change = IFF_UP | IFF_NOARP | IFF_MULTICAST;
    struct request request = start(RTM_NEWLINK, 0, &link, sizeof link);
    if (mtu > 0)
        add_number(&request, IFLA_MTU, (uint32_t)mtu);
    if (queue > 0)
        add_number(&request, IFLA_TXQLEN, (uint32_t)queue);
    return tell(&request);
}

int set_up(const char *device, int mtu, int queue)
{
    int index = (int)if_nametoindex(device);
    if (index == 0)
        return -1;
    silence(index);
    return bring_up(index, mtu, queue);
}

int set_loopback_up(void)
{
    struct ifinfomsg link = {.ifi_family = AF_UNSPEC, .ifi_index = 1, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct request request = start(RTM_NEWLINK, 0, &link, sizeof link);
    return tell(&request);
}

int make_pair(const char *device, const uint8_t *hardware, const char *peer, int peer_namespace, int mtu)
{
    struct ifinfomsg link = {.ifi_family = AF_UNSPEC};
    struct request request = start(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof link);
    add_text(&request, IFLA_IFNAME, device);
    add(&request, IFLA_ADDRESS, hardware, 6);
    add_number(&request, IFLA_MTU, (uint32_t)mtu);
    add_number(&request, IFLA_GSO_MAX_SIZE, PAIR_FRAME);
    struct rtattr *information = add(&request, IFLA_LINKINFO, NULL, 0);
    add_text(&request, IFLA_INFO_KIND, "veth");
    struct rtattr *data = add(&request, IFLA_INFO_DATA, NULL, 0);
    struct rtattr *other = add(&request, VETH_INFO_PEER, NULL, 0);
    append(&request, &link, sizeof link);
    add_text(&request, IFLA_IFNAME, peer);
    add_number(&request, IFLA_NET_NS_FD, (uint32_t)peer_namespace);
    add_number(&request, IFLA_MTU, (uint32_t)mtu);
    close_nest(&request, other);
    close_nest(&request, data);
    close_nest(&request, information);
    return tell(&request);
}

int add_address(const char *device, const struct address *address)
{
    size_t length = address->family == AF_INET ? 4 : 16;
    struct ifaddrmsg body = {(uint8_t)address->family, address->prefix, IFA_F_NODAD, RT_SCOPE_UNIVERSE, 0};
    body.ifa_index = if_nametoindex(device);
    struct request request = start(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);
    add(&request, IFA_LOCAL, address->own, length);
    add(&request, IFA_ADDRESS, address->peer, length);
    return tell(&request);
}

int add_default_route(const char *device, int family)
{
    struct rtmsg body = {.rtm_family = (uint8_t)family, .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_BOOT};
    body.rtm_scope = family == AF_INET ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
    body.rtm_type = RTN_UNICAST;
    struct request request = start(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);
    add_number(&request, RTA_OIF, if_nametoindex(device));
    return tell(&request);
}

int matching_prefix(uint32_t address)
{
    struct rtmsg body = {.rtm_family = AF_INET, .rtm_dst_len = 32, .rtm_flags = RTM_F_FIB_MATCH};
    struct request request = start(RTM_GETROUTE, 0, &body, sizeof body);
    add_number(&request, RTA_DST, htonl(address));
    struct rtmsg found = {0};
    return ask(&request, &found, sizeof found) < 0 ? 0 : found.rtm_dst_len;
}
