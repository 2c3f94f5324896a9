/* Makes the namespaces and devices of a path, and brings programs into them.
 *
 * Why it exists. Only a single-threaded process may change its user namespace, and the process namespace needs a first
 * process: when that one dies, the kernel ends everything inside.
 *
 *   helper make MTU QUEUE NEW_USER SHAPE KIND   descriptor 3 is a socket to whoever asked
 *   helper enter USER NETWORK PROCESSES PROGRAM [ARGUMENT...]
 *
 * `make` answers with one struct answer and, when it succeeded, the descriptors in the order of enum part. It lives
 * until the other end of the socket closes, by whatever death; until then it makes a socket for each byte that comes
 * there: its type, and from the fifth bit on its end. `enter` takes paths of namespaces (USER may be "-") and ends as PROGRAM ends. */

#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whoever asked is root inside, so that programs there may choose any congestion control. */
static void new_user_namespace(void)
{
    unsigned user = geteuid(), group = getegid();
    if (unshare(CLONE_NEWUSER) < 0 || write_file("/proc/self/setgroups", "deny") < 0 ||
        write_file("/proc/self/uid_map", "0 %u 1", user) < 0 || write_file("/proc/self/gid_map", "0 %u 1", group) < 0)
        refuse(USER_NAMESPACE);
}

/* One that takes both IPv4 and IPv6 where there is IPv6. */
static void hand_over_socket(int type, int network)
{
    if (setns(network, CLONE_NEWNET) < 0)
        return answer(HAND_OVER, errno, NULL, 0);
    int made = socket(AF_INET6, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int no = 0;
    if (made >= 0)
        setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    else
        made = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    answer(made < 0 ? HAND_OVER : DONE, errno, &made, made >= 0);
    close(made);
}

/* The first process of the process namespace: makes everything, hands it over, then keeps the namespace alive. */
static void keep(struct plan plan)
{
    int parts[PARTS] = {open_namespace("pid"), open_namespace("user")};
    unsigned char byte;
    ssize_t count;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN); /* orphans are not waited for */
    make_ends(plan, parts);
    answer(DONE, 0, parts, PARTS);
    const int networks[2] = {parts[NETWORK + 3 * SENDER], parts[NETWORK + 3 * RECEIVER]};
    for (int part = 0; part < PARTS; part++)
        if (parts[part] != networks[SENDER] && parts[part] != networks[RECEIVER])
            close(parts[part]);
    while ((count = read(SOCKET_FD, &byte, 1)) == 1 || (count < 0 && errno == EINTR))
        if (count == 1)
            hand_over_socket(byte & 15, networks[byte >> 4 & 1]);
    _exit(0);
}

static int make(char **arguments)
{
    struct plan plan = {
        .mtu = atoi(arguments[0]),
        .queue = atoi(arguments[1]),
        .new_user = atoi(arguments[2]),
        .shape = (enum shape)atoi(arguments[3]),
        .kind = (enum kind)atoi(arguments[4]),
    };
    setsid(); /* Ctrl-C in a terminal is for whoever asked */
    if (chdir("/") < 0)
        refuse(PROCESS_NAMESPACE);
    if (plan.new_user)
        new_user_namespace();
    if (unshare(CLONE_NEWPID) < 0)
        refuse(PROCESS_NAMESPACE);
    pid_t keeper = fork();
    if (keeper < 0)
        refuse(PROCESS_NAMESPACE);
    if (keeper == 0)
        keep(plan);
    close(SOCKET_FD);
    return waitpid(keeper, NULL, 0) < 0;
}

int main(int count, char **arguments)
{
    prctl(PR_SET_NAME, "trialwise-path");
    if (count == 7 && strcmp(arguments[1], "make") == 0)
        return make(arguments + 2);
    if (count >= 6 && strcmp(arguments[1], "enter") == 0)
        return enter(arguments + 2);
    return 2;
}
