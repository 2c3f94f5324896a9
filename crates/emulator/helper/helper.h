/* What the parts of the helper know of each other. */

#ifndef HELPER_H
#define HELPER_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#define SOCKET_FD 3

/* Kept in step with `Stage` in src/error.rs. */
enum stage {
    DONE,
    USER_NAMESPACE,
    PROCESS_NAMESPACE,
    NETWORK_NAMESPACE,
    DEVICE_OPEN,
    DEVICE_MAKE,
    ADDRESS,
    HAND_OVER,
    OUTER_DEVICE,
    BLOCK,
    NESTING,
    PAIR,
    PACKET_SOCKET,
};

/* Kept in step with `Shape` and `DeviceChoice` in src/namespaces.rs. */
enum shape { ISOLATED, DIRECT, RELAYED };
enum kind { AUTO, TUN, PACKET };

/* Kept in step with `Made` in src/handover.rs. */
enum part { PROCESSES, USERS, NETWORK, PARTS = NETWORK + 2 * 3 }; /* network, device, netlink of either end */
enum side { SENDER, RECEIVER };

struct plan {
    int mtu, queue, new_user;
    enum shape shape;
    enum kind kind;
};

/* A range of IPv4 addresses, in the order of the host. */
struct block {
    uint32_t first, prefix;
};

/* answer.c: what goes back to whoever asked. */
void answer(enum stage stage, int error, const int *descriptors, size_t count);
void describe(enum kind kind, struct block block);
void refuse(enum stage stage);

/* netlink.c: links, addresses and routes of the network namespace that this process is in; 0, or -1 with errno. */
struct address {
    int family;
    uint8_t prefix;
    const void *own, *peer; /* the same when there is no peer */
};
int open_netlink(void);
int set_up(const char *device, int mtu, int queue);
int set_loopback_up(void);
int make_pair(const char *device, const uint8_t *hardware, const char *peer, int peer_namespace, int mtu);
int add_address(const char *device, const struct address *address);
int add_default_route(const char *device, int family);
int matching_prefix(uint32_t address); /* of the route there; 0 for the default route or none */

/* ends.c: the network namespaces and devices. */
void make_ends(struct plan plan, int parts[PARTS]);
int open_namespace(const char *name);
int write_file(const char *path, const char *format, ...);

/* enter.c: bringing programs in. */
int enter(char **arguments);

#endif
