/* Captures the datagrams that one process beside it sends to another, and reports each, with the time at which it came.
 *
 *   capture FLAVOUR RATE SECONDS FOLDER --oml-collect file:ROWS
 *
 * FLAVOUR none: a line "number,nanoseconds" of FOLDER/plain.csv; stream: a sample, which the library stamps as it takes it;
 * kernel: a sample with the kernel's time stamp. The receiver's own account is in FOLDER/arrived.csv: number, the time that the
 * datagram carries (when it was sent) and the kernel's time stamp at the receiver's socket, both in nanoseconds. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <trialwise/streams.h>

enum { SIZE = 200, MOST = 1 << 22 };

typedef struct arrival {
  uint64_t sent, stamped;
} arrival;
typedef struct account {
  _Atomic uint64_t sent, received;
  arrival of[MOST];
} account;
typedef struct body {
  uint64_t number, sent;
} body;

static uint64_t nanoseconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t stamp_of(struct msghdr *message) {
  for (struct cmsghdr *one = CMSG_FIRSTHDR(message); one; one = CMSG_NXTHDR(message, one))
    if (one->cmsg_level == SOL_SOCKET && one->cmsg_type == SCM_TIMESTAMPNS) {
      struct timespec time;
      memcpy(&time, CMSG_DATA(one), sizeof time);
      return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    }
  return 0;
}

static ssize_t take(int socket, char *data, size_t room, uint64_t *stamp, struct sockaddr_ll *from) {
  char control[256];
  struct iovec part = {data, room};
  struct msghdr message = {.msg_name = from, .msg_namelen = from ? sizeof *from : 0, .msg_iov = &part, .msg_iovlen = 1,
                           .msg_control = control, .msg_controllen = sizeof control};
  const ssize_t length = recvmsg(socket, &message, 0);
  if (length >= 0) *stamp = stamp_of(&message);
  return length;
}

static void widen(int socket, int room) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes);
  if (setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
}

static void receive(int socket, account *shared) {
  char data[2048];
  uint64_t stamp;
  for (;;) {
    if (take(socket, data, sizeof data, &stamp, NULL) < (ssize_t)sizeof(body)) continue;
    body it;
    memcpy(&it, data, sizeof it);
    if (it.number < MOST) shared->of[it.number] = (arrival){it.sent, stamp};
    atomic_fetch_add(&shared->received, 1);
  }
}

static void send_all(const struct sockaddr_in *address, double rate, double seconds, account *shared) {
  char data[SIZE] = {0};
  const int to = socket(AF_INET, SOCK_DGRAM, 0);
  const struct timespec tick = {0, 1000000};
  const uint64_t start = nanoseconds(CLOCK_MONOTONIC);
  for (double at = 0; at < seconds; at = 1e-9 * (double)(nanoseconds(CLOCK_MONOTONIC) - start)) {
    while ((double)shared->sent < at * rate && shared->sent < MOST) {
      const body it = {shared->sent, nanoseconds(CLOCK_REALTIME)};
      memcpy(data, &it, sizeof it);
      if (sendto(to, data, sizeof data, 0, (const struct sockaddr *)address, sizeof *address) > 0) atomic_fetch_add(&shared->sent, 1);
    }
    nanosleep(&tick, NULL);
  }
}

/* The number that a captured packet carries, if it is one of ours on its way in; else -1. */
static int64_t number_of(const char *data, ssize_t length, const struct sockaddr_ll *from, uint16_t port) {
  struct ip ip;
  struct udphdr udp;
  body it;
  if (from->sll_pkttype == PACKET_OUTGOING || length < (ssize_t)(sizeof ip + sizeof udp + sizeof it)) return -1;
  memcpy(&ip, data, sizeof ip);
  if (ip.ip_p != IPPROTO_UDP) return -1;
  memcpy(&udp, data + 4 * ip.ip_hl, sizeof udp);
  if (udp.uh_dport != port) return -1;
  memcpy(&it, data + 4 * ip.ip_hl + sizeof udp, sizeof it);
  return (int64_t)it.number;
}

static pid_t started(pid_t child) {
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return child;
}

static void write_account(const char *folder, const account *shared) {
  char path[4096];
  snprintf(path, sizeof path, "%s/arrived.csv", folder);
  FILE *file = fopen(path, "w");
  for (uint64_t number = 0; file != NULL && number < shared->sent; number++)
    if (shared->of[number].stamped)
      fprintf(file, "%llu,%llu,%llu\n", (unsigned long long)number, (unsigned long long)shared->of[number].sent,
              (unsigned long long)shared->of[number].stamped);
  if (file == NULL || fclose(file) != 0) perror(path);
}

int main(int argc, char **argv) {
  static const tw_field fields[] = {{"number", TW_UINT64}};
  tw_session *session;
  tw_point *packet;
  if (tw_open_arguments("capture", &argc, argv, &session) || tw_declare(session, "packet", fields, 1, &packet)) {
    fprintf(stderr, "%s\n", tw_last_error());
    return 2;
  }
  if (argc != 5) {
    fputs("usage: capture none|stream|kernel RATE SECONDS FOLDER [--oml-…]\n", stderr);
    return 2;
  }
  const bool plain = strcmp(argv[1], "none") == 0, kernel = strcmp(argv[1], "kernel") == 0;
  const double rate = atof(argv[2]), seconds = atof(argv[3]);
  account *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int capture = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP)), in = socket(AF_INET, SOCK_DGRAM, 0);
  const struct sockaddr_ll lo = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = (int)if_nametoindex("lo")};
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (shared == MAP_FAILED || capture < 0 || bind(capture, (const struct sockaddr *)&lo, sizeof lo) || in < 0 ||
      bind(in, (struct sockaddr *)&address, length) || getsockname(in, (struct sockaddr *)&address, &length)) {
    perror("capture");
    return 1;
  }
  widen(capture, 1 << 20);
  widen(in, 32 << 20);
  char path[4096];
  snprintf(path, sizeof path, "%s/plain.csv", argv[4]);
  FILE *lines = plain ? fopen(path, "w") : NULL;
  if (plain ? lines == NULL : tw_start(session) != TW_OK) {
    plain ? perror(path) : (void)fprintf(stderr, "%s\n", tw_last_error());
    return 2;
  }
  const pid_t receiver = started(fork());
  if (receiver == 0) receive(in, shared);
  const pid_t sender = started(fork());
  if (sender == 0) {
    send_all(&address, rate, seconds, shared);
    _exit(0);
  }
  struct pollfd wait = {capture, POLLIN, 0};
  for (bool sending = true; poll(&wait, 1, 100) > 0 || sending;) {
    char data[2048];
    struct sockaddr_ll from;
    uint64_t stamp = 0;
    if (wait.revents) {
      const ssize_t got = take(capture, data, sizeof data, &stamp, &from);
      const int64_t number = got < 0 ? -1 : number_of(data, got, &from, address.sin_port);
      const tw_value values[] = {tw_uint64((uint64_t)number)};
      if (number < 0) continue;
      if (plain) fprintf(lines, "%lld,%llu\n", (long long)number, (unsigned long long)stamp);
      else if (kernel) tw_inject_at(packet, stamp, values, 1);
      else tw_inject(packet, values, 1);
    } else if (waitpid(sender, NULL, WNOHANG) != 0) {
      sending = false;
    }
  }
  struct rusage used;
  if (plain) fclose(lines);
  else tw_close(session, 5000, NULL);
  getrusage(RUSAGE_SELF, &used);
  kill(receiver, SIGKILL);
  waitpid(receiver, NULL, 0);
  write_account(argv[4], shared);
  printf("{\"processor\": %.6f}\n", (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                                          1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
  return 0;
}
