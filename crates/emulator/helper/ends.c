/* The two ends of a path: network namespaces, devices, addresses.
 *
 * Addresses. The ends of a path between namespaces of its own are fd74:7269:616c::1 and ::2, 100.64.0.1 and .2. A path
 * whose outer end is the network it was started in takes a block of 100.64.0.0/10 (RFC 6598): the outer end is the first
 * address in it, the inner end the second. A path started inside another takes a block inside that one's, so that each
 * namespace on the way has one route for it, and whoever is furthest out answers without translation. The IPv6 addresses
 * are the IPv4 ones below fd74:7269:616c:1::/96. What arbitrates between paths that start at the same time is the name of
 * the outer device: the kernel makes each once. */

#define _GNU_SOURCE
#include "helper.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef TUN_F_USO4 /* Linux 6.2 */
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

#define DEVICE "path0"
#define OUTER_DEVICE_FORMAT "twpath%u"
#define TCP_OFFLOADS (TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)

/* Blocks: 255 of 14 bits in the outermost network, then seven in each. The first of each is of the two ends themselves. */
static const struct block every = {0x64400000, 10}; /* 100.64.0.0/10 */
#define OUTERMOST_PREFIX 18
#define NESTED_BITS 3
#define MAX_PREFIX 30

struct end {
    char device[IFNAMSIZ];
    const char *near; /* the other side of its pair, where it is one */
    int ours;         /* whether its network namespace is */
};

/* Where our sides of pairs are, or -1. */
static int middle = -1;

int write_file(const char *path, const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    ssize_t written = write(file, text, (size_t)length);
    int error = errno;
    close(file);
    errno = error;
    return written == length ? 0 : -1;
}

int open_namespace(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/ns/%s", name);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0)
        refuse(HAND_OVER);
    return namespace;
}

static void new_network(void)
{
    if (unshare(CLONE_NEWNET) < 0 || set_loopback_up() < 0)
        refuse(NETWORK_NAMESPACE);
}

static void go_to(int network)
{
    if (setns(network, CLONE_NEWNET) < 0)
        refuse(NETWORK_NAMESPACE);
}

/* ---- devices ---- */

/* Whether a device of this name is there already; else what is not permitted is refused. */
static int is_taken(const struct end *end)
{
    if (!end->ours && (errno == EBUSY || errno == EEXIST || errno == EINVAL))
        return 1;
    if (!end->ours && (errno == EPERM || errno == EACCES))
        refuse(OUTER_DEVICE);
    return 0;
}

/* Whole frames of TCP, and of UDP where the kernel can, each behind a virtio-net header; -1 if the name is taken. */
static int make_tun(const struct end *end)
{
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (device < 0)
        refuse(DEVICE_OPEN);
    struct ifreq request = {.ifr_flags = (short)(IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL)};
    memcpy(request.ifr_name, end->device, sizeof end->device);
    if (ioctl(device, TUNSETIFF, &request) < 0) {
        if (!is_taken(end))
            refuse(DEVICE_MAKE);
        close(device);
        return -1;
    }
    if (ioctl(device, TUNSETOFFLOAD, TCP_OFFLOADS | TUN_F_USO4 | TUN_F_USO6) < 0 &&
        ioctl(device, TUNSETOFFLOAD, TCP_OFFLOADS) < 0)
        refuse(DEVICE_MAKE);
    return device;
}

/* A pair, this end's side here, ours in the middle; a socket that will hear it, or -1 if the name is taken. */
static int make_veth(const struct end *end, int mtu)
{
    /* Kept in step with `HARDWARE` in src/device/packet.rs. Without neighbours the kernel sends to its own address. */
    static const uint8_t hardware[6] = {2, 't', 'w', 'p', 't', 'h'};
    if (make_pair(end->device, hardware, end->near, middle, mtu) < 0) {
        if (!is_taken(end))
            refuse(PAIR);
        return -1;
    }
    int here = open_namespace("net");
    go_to(middle);
    if (set_up(end->near, mtu, 0) < 0)
        refuse(PAIR);
    int heard = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (heard < 0)
        refuse(PACKET_SOCKET);
    go_to(here);
    close(here);
    return heard;
}

static int make_device(const struct end *end, struct plan plan)
{
    return plan.kind == TUN ? make_tun(end) : make_veth(end, plan.mtu);
}

/* Which kind this machine permits. */
static enum kind choose(enum kind asked)
{
    if (asked != AUTO)
        return asked;
    int device = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    if (device < 0)
        return PACKET;
    close(device);
    return TUN;
}

/* ---- addresses ---- */

/* A kernel, or a namespace, without IPv6 gives a path without it. */
static int needs(int family)
{
    return family == AF_INET || (errno != EAFNOSUPPORT && errno != EOPNOTSUPP && errno != EACCES);
}

static void give(const char *device, int family, uint8_t prefix, const void *own, const void *peer)
{
    struct address address = {family, prefix, own, peer};
    if (add_address(device, &address) < 0 && needs(family))
        refuse(ADDRESS);
}

/* The kernel has no IPv6 where it could not carry it (RFC 8200 section 5). */
static int carries_ipv6(struct plan plan)
{
    return plan.mtu >= 1280;
}

static void give_isolated(const char *device, enum side side, int has_ipv6)
{
    static const char *const addresses[2] = {"100.64.0.1", "100.64.0.2"};
    static const char *const addresses6[2] = {"fd74:7269:616c::1", "fd74:7269:616c::2"};
    struct in_addr own, peer;
    struct in6_addr own6;
    inet_pton(AF_INET, addresses[side], &own);
    inet_pton(AF_INET, addresses[1 - side], &peer);
    inet_pton(AF_INET6, addresses6[side], &own6);
    give(device, AF_INET, 32, &own, &peer);
    if (has_ipv6)
        give(device, AF_INET6, 64, &own6, &own6);
}

static void give_of_block(const char *device, struct block block, uint32_t offset, int has_ipv6)
{
    struct in_addr own = {htonl(block.first + offset)};
    struct in6_addr own6;
    inet_pton(AF_INET6, "fd74:7269:616c:1::", &own6);
    memcpy(own6.s6_addr + 12, &own, sizeof own);
    give(device, AF_INET, (uint8_t)block.prefix, &own, &own);
    if (has_ipv6)
        give(device, AF_INET6, (uint8_t)(96 + block.prefix), &own6, &own6);
}

static uint32_t number_of(struct ifreq *request)
{
    return ntohl(((struct sockaddr_in *)&request->ifr_addr)->sin_addr.s_addr);
}

/* The block of the path whose inner end this network namespace is; else all. */
static struct block enclosing(void)
{
    int internet = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq address = {.ifr_name = DEVICE}, mask = {.ifr_name = DEVICE};
    int none = ioctl(internet, SIOCGIFADDR, &address) < 0 || ioctl(internet, SIOCGIFNETMASK, &mask) < 0;
    close(internet);
    if (none || number_of(&mask) == UINT32_MAX || number_of(&mask) == 0)
        return every;
    uint32_t first = number_of(&address) & number_of(&mask);
    struct block block = {first, (uint32_t)__builtin_popcount(number_of(&mask))};
    int is_inner_end = block.prefix >= OUTERMOST_PREFIX && number_of(&address) == first + 2;
    return is_inner_end ? block : every;
}

static struct block part_of(struct block block, uint32_t index)
{
    uint32_t prefix = block.prefix == every.prefix ? OUTERMOST_PREFIX : block.prefix + NESTED_BITS;
    return (struct block){block.first + (index << (32 - prefix)), prefix};
}

/* Makes the device of the outer end in the present network, in a block that nothing there leads to yet. */
static int claim(struct end *end, struct plan plan, struct block *block)
{
    struct block outside = enclosing();
    uint32_t parts = outside.prefix == every.prefix ? 1 << (OUTERMOST_PREFIX - every.prefix) : 1 << NESTED_BITS;
    int known = outside.prefix == every.prefix ? 0 : (int)outside.prefix;
    errno = EMLINK;
    if (part_of(outside, 0).prefix > MAX_PREFIX)
        refuse(NESTING);
    for (uint32_t index = 1; index < parts; index++) {
        *block = part_of(outside, index);
        if (matching_prefix(block->first + 1) > known || matching_prefix(block->first + 2) > known)
            continue;
        snprintf(end->device, sizeof end->device, OUTER_DEVICE_FORMAT, index);
        int device = make_device(end, plan);
        if (device >= 0)
            return device;
    }
    errno = EADDRINUSE;
    refuse(BLOCK);
    return -1;
}

/* ---- ends ---- */

/* Buffers must not be the limit at a gigabit, a connection must learn nothing from an earlier one, and a path inside
 * needs to get out. What cannot be set stays as it is. */
static void tune(enum shape shape, enum side side)
{
    write_file("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 67108864");
    write_file("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 67108864");
    write_file("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
    write_file("/proc/sys/net/ipv4/ip_forward", "1");
    write_file("/proc/sys/net/ipv6/conf/all/forwarding", "1");
    if (shape == RELAYED && side == RECEIVER) /* the relay stands for servers of the host at any port */
        write_file("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
}

/* Of an end that exists: everything but the device itself. */
static void furnish(const struct end *end, enum side side, struct plan plan, struct block block, int parts[3])
{
    parts[0] = open_namespace("net");
    parts[2] = open_netlink();
    if (parts[2] < 0)
        refuse(HAND_OVER);
    if (set_up(end->device, plan.mtu, plan.queue) < 0)
        refuse(DEVICE_MAKE);
    if (end->ours) /* after the device has stopped to be one for groups: else the kernel would tell of those of routers */
        tune(plan.shape, side);
    if (plan.shape == ISOLATED)
        give_isolated(end->device, side, carries_ipv6(plan));
    else
        give_of_block(end->device, block, side == RECEIVER ? 1 : 2, carries_ipv6(plan));
    if (end->ours && add_default_route(end->device, AF_INET) < 0)
        refuse(ADDRESS);
    if (end->ours)
        add_default_route(end->device, AF_INET6);
}

/* For pairs: a namespace between the ends, where nothing runs. Only who may do all here can come back. */
static void make_middle(int comes_back)
{
    int here = open_namespace("net");
    new_network();
    middle = open_namespace("net");
    if (comes_back)
        go_to(here);
    close(here);
}

void make_ends(struct plan plan, int parts[PARTS])
{
    struct end ends[2] = {{DEVICE, "near0", 1}, {DEVICE, "near1", plan.shape != DIRECT}};
    struct block block = plan.shape == RELAYED ? part_of(every, 1) : (struct block){0, 0};
    plan.kind = choose(plan.kind);
    if (plan.kind == PACKET)
        make_middle(plan.shape == DIRECT);
    if (plan.shape == DIRECT) {
        int *outer = parts + NETWORK + 3 * RECEIVER;
        outer[1] = claim(&ends[RECEIVER], plan, &block);
        furnish(&ends[RECEIVER], RECEIVER, plan, block, outer);
    }
    for (enum side side = SENDER; side <= RECEIVER; side++) {
        if (!ends[side].ours)
            continue;
        int *end = parts + NETWORK + 3 * side;
        new_network();
        end[1] = make_device(&ends[side], plan);
        furnish(&ends[side], side, plan, block, end);
    }
    describe(plan.kind, block);
}
