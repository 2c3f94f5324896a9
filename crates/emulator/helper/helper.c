/* Makes the namespaces and devices of a path, and brings programs into them.
 *
 * Why it exists. Only a single-threaded process may change its user namespace, and the process namespace needs a first
 * process: when that one dies, the kernel ends everything inside.
 *
 *   helper make MTU QUEUE NEW_USER              descriptor 3 is a socket to whoever asked
 *   helper enter USER NETWORK PROCESSES PROGRAM [ARGUMENT...]
 *
 * `make` answers with one struct answer and, when it succeeded, the descriptors in the order of enum part. It lives
 * until the other end of the socket closes, by whatever death. `enter` takes paths of namespaces (USER may be "-") and
 * ends as PROGRAM ends. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef TUN_F_USO4 /* Linux 6.2 */
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

#define SOCKET_FD 3
#define DEVICE "path0"
#define TCP_OFFLOADS (TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)

/* Kept in step with `Stage` in src/error.rs. */
enum stage { DONE, USER_NAMESPACE, PROCESS_NAMESPACE, NETWORK_NAMESPACE, DEVICE_OPEN, DEVICE_MAKE, ADDRESS, HAND_OVER };

/* Kept in step with `receive` in src/namespaces.rs. */
enum part { PROCESSES, USERS, NETWORK, PARTS = NETWORK + 2 * 3 }; /* network, device, netlink of either end */

struct answer {
    int32_t stage, error;
};

struct address6 { /* struct in6_ifreq, whose header does not go together with the C library's */
    struct in6_addr address;
    uint32_t prefix;
    int index;
};

static const char *const addresses[2] = {"100.64.0.1", "100.64.0.2"};
static const char *const addresses6[2] = {"fd74:7269:616c::1", "fd74:7269:616c::2"};

static void answer(enum stage stage, int error, const int *descriptors, size_t count)
{
    struct answer body = {(int32_t)stage, error};
    struct iovec vector = {&body, sizeof body};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * PARTS)];
    } control = {0};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        *header = (struct cmsghdr){CMSG_LEN(sizeof(int) * count), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
    }
    if (sendmsg(SOCKET_FD, &message, MSG_NOSIGNAL) < 0)
        _exit(1);
}

static void refuse(enum stage stage)
{
    answer(stage, errno, NULL, 0);
    _exit(1);
}

/* ---- namespaces ---- */

static int write_file(const char *path, const char *format, ...)
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

/* Whoever asked is root inside, so that programs there may choose any congestion control. */
static void new_user_namespace(void)
{
    unsigned user = geteuid(), group = getegid();
    if (unshare(CLONE_NEWUSER) < 0 || write_file("/proc/self/setgroups", "deny") < 0 ||
        write_file("/proc/self/uid_map", "0 %u 1", user) < 0 || write_file("/proc/self/gid_map", "0 %u 1", group) < 0)
        refuse(USER_NAMESPACE);
}

static int open_namespace(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/ns/%s", name);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0)
        refuse(HAND_OVER);
    return namespace;
}

/* ---- one end: a network namespace with a device ---- */

static void control(int socket, unsigned long request, void *argument, enum stage stage)
{
    if (ioctl(socket, request, argument) < 0)
        refuse(stage);
}

static struct ifreq request_for(const char *device)
{
    struct ifreq request = {0};
    strncpy(request.ifr_name, device, IFNAMSIZ - 1);
    return request;
}

static void bring_up(int socket, const char *device)
{
    struct ifreq request = request_for(device);
    request.ifr_flags = IFF_UP | IFF_RUNNING | IFF_NOARP; /* no neighbours: no solicitations */
    control(socket, SIOCSIFFLAGS, &request, ADDRESS);
}

/* Whole frames of TCP, and of UDP where the kernel can, each behind a virtio-net header. */
static int make_device(int socket, int mtu)
{
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (device < 0)
        refuse(DEVICE_OPEN);
    struct ifreq request = request_for(DEVICE);
    request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    control(device, TUNSETIFF, &request, DEVICE_MAKE);
    if (ioctl(device, TUNSETOFFLOAD, TCP_OFFLOADS | TUN_F_USO4 | TUN_F_USO6) < 0 &&
        ioctl(device, TUNSETOFFLOAD, TCP_OFFLOADS) < 0)
        refuse(DEVICE_MAKE);
    request.ifr_mtu = mtu;
    control(socket, SIOCSIFMTU, &request, DEVICE_MAKE);
    return device;
}

/* How many frames the device keeps for us. By netlink: the older call (SIOCSIFTXQLEN) is for the machine's own root. */
static void set_queue(int netlink, int index, int queue)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg link;
        struct rtattr attribute;
        uint32_t length;
    } request = {
        {sizeof request, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 0, 0},
        {.ifi_family = AF_UNSPEC, .ifi_index = index},
        {RTA_LENGTH(sizeof(uint32_t)), IFLA_TXQLEN},
        (uint32_t)queue,
    };
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char more[512];
    } reply = {0};
    if (send(netlink, &request, sizeof request, 0) < 0 || recv(netlink, &reply, sizeof reply, 0) < 0)
        refuse(DEVICE_MAKE);
    errno = -reply.error.error;
    if (errno != 0)
        refuse(DEVICE_MAKE);
}

static int device_index(int socket)
{
    struct ifreq request = request_for(DEVICE);
    control(socket, SIOCGIFINDEX, &request, DEVICE_MAKE);
    return request.ifr_ifindex;
}

static void set_address(int socket, const char *own, const char *other)
{
    struct ifreq request = request_for(DEVICE);
    struct sockaddr_in *address = (struct sockaddr_in *)&request.ifr_addr;
    address->sin_family = AF_INET;
    inet_pton(AF_INET, own, &address->sin_addr);
    control(socket, SIOCSIFADDR, &request, ADDRESS);
    inet_pton(AF_INET, other, &address->sin_addr);
    control(socket, SIOCSIFDSTADDR, &request, ADDRESS);
}

static void add_default_route(int socket)
{
    struct rtentry route = {.rt_flags = RTF_UP, .rt_dev = (char *)DEVICE};
    route.rt_dst.sa_family = route.rt_genmask.sa_family = AF_INET;
    control(socket, SIOCADDRT, &route, ADDRESS);
}

/* A /64 each: the peer is on the link, and all else goes there by the default route. A kernel without IPv6 gives a path
 * without it. */
static void set_address6(int socket_v4, const char *own)
{
    int socket_v6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_v6 < 0)
        return;
    struct address6 request = {.prefix = 64, .index = device_index(socket_v4)};
    inet_pton(AF_INET6, own, &request.address);
    control(socket_v6, SIOCSIFADDR, &request, ADDRESS);
    /* The kernel lets an address be used a moment later, from a thread of its own. */
    struct sockaddr_in6 usable = {.sin6_family = AF_INET6, .sin6_addr = request.address};
    for (int tries = 2000; bind(socket_v6, (struct sockaddr *)&usable, sizeof usable) < 0; tries--) {
        if (tries == 0 || errno != EADDRNOTAVAIL)
            refuse(ADDRESS);
        usleep(1000);
    }
    close(socket_v6);
}

/* The kernel must not speak on its own (no link-local address, so no solicitations), buffers must not be the limit at a
 * gigabit, and a connection must learn nothing from an earlier one. What cannot be set stays as it is. */
static void quieten(void)
{
    write_file("/proc/sys/net/ipv6/conf/" DEVICE "/addr_gen_mode", "1");
    write_file("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 67108864");
    write_file("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 67108864");
    write_file("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
}

static void make_end(int side, int mtu, int queue, int parts[3])
{
    if (unshare(CLONE_NEWNET) < 0)
        refuse(NETWORK_NAMESPACE);
    int setup = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (setup < 0)
        refuse(NETWORK_NAMESPACE);
    bring_up(setup, "lo");
    parts[0] = open_namespace("net");
    parts[1] = make_device(setup, mtu);
    parts[2] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (parts[2] < 0)
        refuse(HAND_OVER);
    set_queue(parts[2], device_index(setup), queue);
    quieten();
    set_address(setup, addresses[side], addresses[1 - side]);
    bring_up(setup, DEVICE);
    add_default_route(setup);
    set_address6(setup, addresses6[side]);
    close(setup);
}

/* The first process of the process namespace: makes everything, hands it over, then keeps the namespace alive. */
static void keep(int mtu, int queue)
{
    int parts[PARTS] = {open_namespace("pid"), open_namespace("user")};
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN); /* orphans are not waited for */
    for (int side = 0; side < 2; side++)
        make_end(side, mtu, queue, parts + NETWORK + 3 * side);
    answer(DONE, 0, parts, PARTS);
    for (int part = 0; part < PARTS; part++)
        close(parts[part]);
    while (read(SOCKET_FD, &byte, 1) < 0 && errno == EINTR)
        ;
    _exit(0);
}

static int make(char **arguments)
{
    setsid(); /* Ctrl-C in a terminal is for whoever asked */
    if (chdir("/") < 0)
        refuse(PROCESS_NAMESPACE);
    if (atoi(arguments[2]))
        new_user_namespace();
    if (unshare(CLONE_NEWPID) < 0)
        refuse(PROCESS_NAMESPACE);
    pid_t keeper = fork();
    if (keeper < 0)
        refuse(PROCESS_NAMESPACE);
    if (keeper == 0)
        keep(atoi(arguments[0]), atoi(arguments[1]));
    close(SOCKET_FD);
    return waitpid(keeper, NULL, 0) < 0;
}

/* ---- entering ---- */

static pid_t program;

static void pass_on(int signal, siginfo_t *info, void *context)
{
    (void)context;
    /* What the terminal sends to the whole group has reached the program already. */
    if (info->si_code != SI_KERNEL && program > 0)
        kill(program, signal);
}

static void fail_to_enter(const char *path)
{
    fprintf(stderr, "trialwise: cannot enter the path (%s): %s; is it still up?\n", path, strerror(errno));
    exit(126);
}

/* All are opened before the first is joined: from inside the user namespace the paths lead nowhere. */
static void join(char **paths)
{
    static const int kinds[3] = {CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWPID};
    int namespaces[3];
    for (int index = 0; index < 3; index++) {
        int none = strcmp(paths[index], "-") == 0;
        namespaces[index] = none ? -1 : open(paths[index], O_RDONLY | O_CLOEXEC);
        if (!none && namespaces[index] < 0)
            fail_to_enter(paths[index]);
    }
    for (int index = 0; index < 3; index++)
        if (namespaces[index] >= 0 && setns(namespaces[index], kinds[index]) < 0)
            fail_to_enter(paths[index]);
}

static void execute(char **arguments)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(arguments[0], arguments);
    fprintf(stderr, "trialwise: cannot start %s: %s\n", arguments[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

/* The status of the program as the shell gives it, by the same signal if one ended it. */
static int await(void)
{
    int status = 0;
    while (waitpid(program, &status, 0) < 0)
        if (errno != EINTR)
            return 126;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    signal(WTERMSIG(status), SIG_DFL);
    prctl(PR_SET_DUMPABLE, 0);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

static int enter(char **arguments)
{
    static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigset_t all, before;
    join(arguments);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* no signal is lost on the way to the program */
    program = fork();
    if (program == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        execute(arguments + 3);
    }
    if (program < 0) {
        fprintf(stderr, "trialwise: cannot start a process in the path: %s; is it still up?\n", strerror(errno));
        return 126;
    }
    for (size_t index = 0; index < sizeof passed / sizeof *passed; index++)
        sigaction(passed[index], &action, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return await();
}

int main(int count, char **arguments)
{
    prctl(PR_SET_NAME, "trialwise-path");
    if (count == 5 && strcmp(arguments[1], "make") == 0)
        return make(arguments + 2);
    if (count >= 6 && strcmp(arguments[1], "enter") == 0)
        return enter(arguments + 2);
    return 2;
}
