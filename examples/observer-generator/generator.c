/* Sends UDP datagrams at a rate and reports them in one of four flavours; a process beside it counts what arrives.
 *
 *   generator FLAVOUR THREADS RATE SECONDS --oml-collect file:ROWS [--oml-config FILE]
 *
 * FLAVOUR none: the total at the end; interval: a sample for every 100 ms; packet: a sample for each datagram (a filter is
 * the business of --oml-config). THREADS yes: samples are taken by a thread of their own, which the sending loop feeds. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
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

enum { SIZE = 200, RING = 1 << 16 };
static const double INTERVAL = 0.1;

typedef struct counts {
  _Atomic uint64_t received, dropped;
} counts;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void rest(double seconds) {
  const struct timespec pause = {0, (long)(seconds * 1e9)};
  nanosleep(&pause, NULL);
}

/* ---- the independent count: what reached the receiver's socket, whether it was read or dropped there ---- */

static void receive(int socket, counts *shared) {
  char data[2048], control[256];
  struct iovec part = {data, sizeof data};
  for (;;) {
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (recvmsg(socket, &message, 0) < 0) continue;
    atomic_fetch_add_explicit(&shared->received, 1, memory_order_relaxed);
    for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one))
      if (one->cmsg_level == SOL_SOCKET && one->cmsg_type == SO_RXQ_OVFL)
        atomic_store_explicit(&shared->dropped, *(uint32_t *)CMSG_DATA(one), memory_order_relaxed);
  }
}

static pid_t start_receiver(struct sockaddr_in *address, counts *shared) {
  const int found = socket(AF_INET, SOCK_DGRAM, 0), yes = 1, room = 32 << 20;
  socklen_t length = sizeof *address;
  *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (found < 0 || bind(found, (struct sockaddr *)address, length) || getsockname(found, (struct sockaddr *)address, &length)) return -1;
  setsockopt(found, SOL_SOCKET, SO_RXQ_OVFL, &yes, sizeof yes);
  if (setsockopt(found, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) setsockopt(found, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    receive(found, shared);
  }
  close(found);
  return child;
}

/* ---- the instrument ---- */

typedef struct reporter {
  const tw_point *packet, *interval;
  bool each, threaded;
  _Atomic bool done;
  _Atomic uint64_t head, tail;
  uint32_t ring[RING];
} reporter;

static void tell_packet(const reporter *to, uint32_t number) {
  const tw_value values[] = {tw_uint32(number), tw_uint32(SIZE), tw_uint32(1)};
  tw_inject(to->packet, values, 3); /* what is lost here is missing in the report, which is the question */
}

static void tell_interval(const reporter *to, uint32_t packets) {
  const tw_value values[] = {tw_uint32(packets), tw_uint32(packets * SIZE)};
  tw_inject(to->interval, values, 2);
}

static void tell(const reporter *to, uint32_t what) {
  if (to->each) tell_packet(to, what);
  else tell_interval(to, what);
}

static void report(reporter *to, uint32_t what) {
  if (!to->threaded) {
    tell(to, what);
    return;
  }
  const uint64_t head = atomic_load_explicit(&to->head, memory_order_relaxed);
  if (head - atomic_load_explicit(&to->tail, memory_order_acquire) == RING) return; /* full: not reported */
  to->ring[head % RING] = what;
  atomic_store_explicit(&to->head, head + 1, memory_order_release);
}

static void *report_all(void *argument) {
  reporter *to = argument;
  for (uint64_t tail = 0;;) {
    const bool done = atomic_load_explicit(&to->done, memory_order_acquire);
    const uint64_t head = atomic_load_explicit(&to->head, memory_order_acquire);
    for (; tail < head; tail++) {
      tell(to, to->ring[tail % RING]);
      atomic_store_explicit(&to->tail, tail + 1, memory_order_release);
    }
    if (done) return NULL;
    rest(1e-3);
  }
}

/* ---- sending: each millisecond what is due ---- */

static uint64_t send_all(int to, double rate, double seconds, bool reports, reporter *by) {
  static char data[SIZE];
  uint64_t sent = 0, told = 0;
  const double start = now();
  double edge = INTERVAL;
  for (double at = 0; at < seconds; at = now() - start) {
    for (; (double)sent < at * rate && now() - start < seconds; sent++) {
      memcpy(data, &sent, sizeof sent);
      if (send(to, data, sizeof data, 0) < 0) continue;
      if (reports && by->each) report(by, (uint32_t)sent);
    }
    if (reports && !by->each && at >= edge) {
      report(by, (uint32_t)(sent - told));
      told = sent;
      edge += INTERVAL;
    }
    rest(1e-3);
  }
  if (reports && !by->each && sent > told) report(by, (uint32_t)(sent - told));
  return sent;
}

static double processor(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* In KiB. Not ru_maxrss, which is also that of the program that became this one. */
static long most_memory(void) {
  char line[128];
  long found = -1;
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (sscanf(line, "VmHWM: %ld", &found) == 1) break;
  if (status != NULL) fclose(status);
  return found;
}

int main(int argc, char **argv) {
  static const tw_field of_packet[] = {{"number", TW_UINT32}, {"bytes", TW_UINT32}, {"packets", TW_UINT32}};
  static const tw_field of_interval[] = {{"packets", TW_UINT32}, {"bytes", TW_UINT32}};
  static reporter by;
  tw_session *session;
  tw_point *packet, *interval;
  if (tw_open_arguments("generator", &argc, argv, &session) || tw_declare(session, "packet", of_packet, 3, &packet) ||
      tw_declare(session, "interval", of_interval, 2, &interval)) {
    fprintf(stderr, "%s\n", tw_last_error());
    return 2;
  }
  if (argc != 5) {
    fputs("usage: generator none|interval|packet THREADS RATE SECONDS [--oml-…]\n", stderr);
    return 2;
  }
  const bool reports = strcmp(argv[1], "none") != 0;
  const double rate = atof(argv[3]), seconds = atof(argv[4]);
  by.packet = packet, by.interval = interval;
  by.each = strcmp(argv[1], "packet") == 0, by.threaded = strcmp(argv[2], "yes") == 0;
  counts *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  struct sockaddr_in address;
  const pid_t receiver = shared == MAP_FAILED ? -1 : start_receiver(&address, shared);
  const int to = socket(AF_INET, SOCK_DGRAM, 0);
  if (receiver < 0 || to < 0 || connect(to, (struct sockaddr *)&address, sizeof address)) {
    perror("generator");
    return 1;
  }
  if (reports && tw_start(session) != TW_OK) {
    fprintf(stderr, "%s\n", tw_last_error());
    return 2;
  }
  pthread_t thread;
  if (by.threaded) pthread_create(&thread, NULL, report_all, &by);
  const double before = processor(), start = now();
  const uint64_t sent = send_all(to, rate, seconds, reports, &by);
  const double took = now() - start;
  atomic_store(&by.done, true);
  if (by.threaded) pthread_join(thread, NULL);
  const double used = processor() - before;
  if (reports) tw_close(session, 5000, NULL);
  uint64_t last = 0;
  for (int quiet = 0; quiet < 10; rest(0.02)) { /* the receiver may have to wait for a processor */
    quiet = last == shared->received ? quiet + 1 : 0;
    last = shared->received;
  }
  kill(receiver, SIGKILL);
  waitpid(receiver, NULL, 0);
  printf("{\"sent\": %llu, \"arrived\": %llu, \"dropped\": %llu, \"seconds\": %.6f, \"processor\": %.6f, \"memory\": %ld}\n",
         (unsigned long long)sent, (unsigned long long)(shared->received + shared->dropped), (unsigned long long)shared->dropped, took,
         used, most_memory());
  return 0;
}
