/* The supervisor: the small process that stands between Trialwise and a measured program.
 *
 * Why it exists. A child's ru_maxrss starts at the peak size of the process that started it (exec_mmap() in the
 * kernel's fs/exec.c folds the old memory map into it), so a program started from a Python of 500 MB "needs" 500 MB.
 * Orphans go to the nearest PR_SET_CHILD_SUBREAPER, and a Python that became one would receive processes it cannot
 * tell from its own children. This process is a few pages large, has no child but the program, and lives for one run.
 *
 * Freestanding: no C library, so that it starts in microseconds and nothing but this file is linked.
 *
 *   supervisor TIMEOUT_NS GRACE_NS CPUS COUNTERS NAMESPACES PATH ARGV0 ARGV1...
 *
 * TIMEOUT_NS "-": none. CPUS "-" or "0,2,5". COUNTERS "-" or TYPE:CONFIG:USER,... as perf_event_open(2) has them, USER 1 to
 * leave the kernel's part out. NAMESPACES are flags of unshare(2); behind them may stand @PROCESS, whose namespaces the
 * program is to enter first. Then nothing else but PROCESS is to be a child of PROCESS: what is, is of this run.
 *
 * Descriptor 3: where the report goes; its reader's end closing means that the caller is gone.
 * Descriptor 4: what abandons the run when it is readable (descriptor 3 again when nothing does).
 * Standard descriptors, environment, working directory and signals are already those of the program. */

#include <asm/unistd.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/time_types.h>
#include <linux/wait.h>
#include <stddef.h>
#include <stdint.h>

#ifndef __NR_pidfd_open /* Linux 5.3 */
#define __NR_pidfd_open 434
#endif
#ifndef __NR_close_range /* Linux 5.9; without it inherited descriptors stay open */
#define __NR_close_range 436
#endif

#define REPORT_FD 3
#define CANCEL_FD 4
#define AT_FDCWD (-100)
#define O_DIRECTORY_CLOEXEC (00200000 | 02000000)
#define F_SETFD 2
#define FD_CLOEXEC 1
#define EPERM 1
#define EINTR 4
#define ENOEXEC 8
#define ECHILD 10
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define SECOND 1000000000LL
#define GIVE_UP_AFTER (10 * SECOND) /* of SIGKILL: a process in uninterruptible sleep must not hang the run */
#define MOST_CPUS 1024
#define MOST_PROCESSES 65536
#define MOST_COUNTERS 16

enum stage { RAN = 0, FORK = 1, AFFINITY = 2, EXEC = 3, NAMESPACE = 4 };
enum reason { NONE = 0, TIMED_OUT = 1, CANCELLED = 2 };

/* Kept in step with `Reading` and `Report` in src/supervisor.rs. */
struct reading {
    int64_t value, enabled_ns, running_ns, error;
};

struct report {
    int64_t stage, error, realtime, start, end, status;
    int64_t user_us, system_us, max_rss_kib, minor_faults, major_faults, blocks_in, blocks_out;
    int64_t voluntary, involuntary, reason, leftover, surviving;
    struct reading counters[MOST_COUNTERS];
};

/* ---- the kernel's door ---- */

#if defined(__x86_64__)
static long call6(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
/* The child shares this stack: the return address must survive it, hence in a register. */
__asm__(".text\n.global share_fork\nshare_fork:\n pop %rdx\n mov $58, %eax\n syscall\n push %rdx\n ret\n");
__asm__(".text\n.global _start\n_start:\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call supervise\n");
#elif defined(__aarch64__)
static long call6(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
/* clone(CLONE_VM | CLONE_VFORK | SIGCHLD, same stack) */
__asm__(".text\n.global share_fork\nshare_fork:\n mov x8, 220\n mov x0, 0x4111\n mov x1, 0\n svc 0\n ret\n");
__asm__(".text\n.global _start\n_start:\n mov x29, 0\n mov x0, sp\n bl supervise\n");
#else
#error "the supervisor knows x86_64 and aarch64: add this machine's system call convention"
#endif

long share_fork(void) __attribute__((returns_twice));

#define CALL(number, a, b, c, d) call6(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/* The compiler may call it for what it initialises. */
void *memset(void *start, int value, size_t length) {
    volatile unsigned char *byte = start;
    while (length--) *byte++ = (unsigned char)value;
    return start;
}

static int64_t clock_ns(int which) {
    struct __kernel_timespec now;
    CALL(__NR_clock_gettime, which, &now, 0, 0);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static long send_signal(long process, int signal) { return CALL(__NR_kill, process, signal, 0, 0); }

_Noreturn static void leave(void) {
    for (;;) CALL(__NR_exit_group, 0, 0, 0, 0);
}

/* ---- arguments ---- */

static int64_t integer(const char **text) {
    int64_t value = 0;
    for (; **text >= '0' && **text <= '9'; ++*text) value = value * 10 + (**text - '0');
    return value;
}

static int64_t argument(const char *text) { return *text == '-' ? -1 : integer(&text); }

/* Binds the calling process to the CPUs in the list; 0 or a negative errno. */
static long bind_to(const char *cpus) {
    unsigned long mask[MOST_CPUS / 64] = {0};
    if (*cpus == '-') return 0;
    for (; *cpus; cpus += *cpus == ',') {
        int64_t cpu = integer(&cpus);
        if (cpu < MOST_CPUS) mask[cpu / 64] |= 1UL << (cpu % 64);
    }
    return CALL(__NR_sched_setaffinity, 0, sizeof mask, mask, 0);
}

/* ---- namespaces ---- */

static void write_file(const char *path, const char *text, long length) {
    long file = CALL(__NR_openat, AT_FDCWD, path, 1 /* O_WRONLY */, 0);
    CALL(__NR_write, file, text, length, 0);
    CALL(__NR_close, file, 0, 0, 0);
}

/* "ID ID 1": the caller's own number stays what it is. */
static void map_id(const char *path, long id) {
    char digits[12], line[32];
    int count = 0, length = 0;
    do digits[count++] = (char)('0' + id % 10);
    while ((id /= 10) > 0);
    for (int copy = 0; copy < 2; copy++) {
        for (int digit = count; digit > 0; digit--) line[length++] = digits[digit - 1];
        line[length++] = ' ';
    }
    line[length++] = '1';
    write_file(path, line, length);
}

static long unshare_as_user(int64_t flags) {
    long user = CALL(__NR_geteuid, 0, 0, 0, 0), group = CALL(__NR_getegid, 0, 0, 0, 0);
    long result = CALL(__NR_unshare, flags | CLONE_NEWUSER, 0, 0, 0);
    if (result < 0) return result;
    write_file("/proc/self/setgroups", "deny", 4);
    map_id("/proc/self/uid_map", user);
    map_id("/proc/self/gid_map", group);
    return result;
}

static void raise_loopback(void) {
    struct {
        char name[16];
        int16_t flags;
        char rest[22];
    } request = {"lo", 0x41 /* IFF_UP | IFF_RUNNING */, {0}};
    long socket = CALL(__NR_socket, 2 /* AF_INET */, 2 /* SOCK_DGRAM */, 0, 0);
    CALL(__NR_ioctl, socket, 0x8914 /* SIOCSIFFLAGS */, &request, 0);
    CALL(__NR_close, socket, 0, 0, 0);
}

/* Whose namespaces the program enters, 0 for nobody's: orphans become its children and not the supervisor's. */
static int32_t host;
static long host_pidfd;

/* All of them but that of mounts, which is for the program alone: the supervisor finds processes in this machine's /proc. */
static long enter(const char *from) {
    const long flags = CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
    host = (int32_t)integer(&from);
    host_pidfd = CALL(__NR_pidfd_open, host, 0, 0, 0);
    if (host_pidfd < 0) return host_pidfd;
    long result = CALL(__NR_setns, host_pidfd, flags, 0, 0);
    return result == -EPERM ? CALL(__NR_setns, host_pidfd, flags | CLONE_NEWUSER, 0, 0) : result;
}

/* In the child. The new root is that of the namespace, so the working directory is looked up again, by its name. */
static long enter_mounts(void) {
    char directory[4096];
    if (!host) return 0;
    long result = CALL(__NR_getcwd, directory, sizeof directory, 0, 0);
    if (result >= 0) result = CALL(__NR_setns, host_pidfd, CLONE_NEWNS, 0, 0);
    return result < 0 ? result : CALL(__NR_chdir, directory, 0, 0, 0);
}

/* Before the clock is read. Who may not have namespaces of their own may have them inside a user namespace. */
static int isolate(const char *namespaces, struct report *report) {
    int64_t flags = integer(&namespaces);
    long result = *namespaces == '@' ? enter(namespaces + 1) : 0;
    if (result == 0 && flags) {
        result = CALL(__NR_unshare, flags, 0, 0, 0);
        if (result == -EPERM) result = unshare_as_user(flags);
    }
    if (result == 0 && flags & CLONE_NEWNET) raise_loopback();
    report->stage = result ? NAMESPACE : RAN;
    report->error = -result;
    return result == 0;
}

/* ---- counters ---- */

/* Opened on the supervisor itself, and off: what it starts inherits them, and becoming the program turns them on there, so
 * that nothing is counted but the program and what it starts. */
static long open_counter(const char **list) {
    struct perf_event_attr event = {0};
    event.size = sizeof event;
    event.type = (uint32_t)integer(list);
    ++*list;
    event.config = (uint64_t)integer(list);
    ++*list;
    event.exclude_kernel = event.exclude_hv = integer(list) != 0;
    event.disabled = event.inherit = event.enable_on_exec = 1;
    event.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return call6(__NR_perf_event_open, (long)&event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
}

static void open_counters(const char *list, long *counters) {
    for (int index = 0; *list && *list != '-' && index < MOST_COUNTERS; list += *list == ',')
        counters[index++] = open_counter(&list);
}

static void read_counters(const long *counters, struct report *report) {
    for (int index = 0; index < MOST_COUNTERS; index++) {
        if (!counters[index]) continue;
        struct reading *reading = &report->counters[index];
        long result = counters[index];
        if (result > 0) result = CALL(__NR_read, counters[index], reading, 3 * sizeof(int64_t), 0);
        if (result < 0) reading->error = -result;
    }
}

/* ---- the process tree ---- */

static int32_t process_id[MOST_PROCESSES], parent_id[MOST_PROCESSES];
static char in_tree[MOST_PROCESSES];

struct entry { /* linux_dirent64 */
    uint64_t inode, offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

static void stat_path(char *path, const char *name) {
    const char *parts[] = {"/proc/", name, "/stat"};
    for (int part = 0; part < 3; part++)
        for (const char *from = parts[part]; *from; from++) *path++ = *from;
    *path = 0;
}

/* The parent of /proc/NAME, or 0 when it is gone or a zombie. The program's name, in brackets, may hold anything. */
static int32_t parent_of(const char *name) {
    char text[512], path[64];
    stat_path(path, name);
    long fd = CALL(__NR_openat, AT_FDCWD, path, 0, 0);
    if (fd < 0) return 0;
    long length = CALL(__NR_read, fd, text, sizeof text - 1, 0);
    CALL(__NR_close, fd, 0, 0, 0);
    if (length <= 0) return 0;
    text[length] = 0;
    const char *last = text;
    for (const char *at = text; *at; at++)
        if (*at == ')') last = at;
    if (last + 4 >= text + length || last[2] == 'Z' || last[2] == 'X') return 0;
    last += 4;
    return (int32_t)integer(&last);
}

static int list_processes(void) {
    static char buffer[32768];
    int count = 0;
    long length, fd = CALL(__NR_openat, AT_FDCWD, "/proc", O_DIRECTORY_CLOEXEC, 0);
    while (fd >= 0 && (length = CALL(__NR_getdents64, fd, buffer, sizeof buffer, 0)) > 0)
        for (long at = 0; at < length; at += ((struct entry *)(buffer + at))->length) {
            const char *name = ((struct entry *)(buffer + at))->name;
            int32_t parent = *name >= '1' && *name <= '9' ? parent_of(name) : 0;
            if (!parent || count == MOST_PROCESSES) continue;
            parent_id[count] = parent;
            process_id[count] = (int32_t)integer(&name);
            in_tree[count++] = 0;
        }
    if (fd >= 0) CALL(__NR_close, fd, 0, 0, 0);
    return count;
}

static int is_in_tree(int32_t process, int32_t root, int count) {
    if (process == root || (host && process == host)) return 1;
    for (int other = 0; other < count; other++)
        if (process_id[other] == process) return in_tree[other];
    return 0;
}

/* Sends a signal (0: none) to every living descendant, also those with a session of their own; returns how many. */
static int64_t signal_tree(int signal) {
    int count = list_processes(), found = 0, before;
    int32_t self = (int32_t)CALL(__NR_getpid, 0, 0, 0, 0);
    do {
        before = found;
        for (int index = 0; index < count; index++)
            if (!in_tree[index] && is_in_tree(parent_id[index], self, count)) {
                in_tree[index] = 1;
                found++;
                if (signal) send_signal(process_id[index], signal);
            }
    } while (found != before);
    return found;
}

/* A stopped process hears SIGTERM only when it goes on. */
static int64_t ask_tree_to_end(void) {
    int64_t found = signal_tree(SIGTERM);
    signal_tree(SIGCONT);
    return found;
}

/* ---- one run ---- */

struct run {
    int64_t timeout, grace, kill_at;
    long process, pidfd;
};

/* In the child, which shares the supervisor's memory until it has become the program. */
_Noreturn static void become(const char *cpus, char **arguments, char **environment, volatile struct report *report) {
    CALL(__NR_setpgid, 0, 0, 0, 0);
    CALL(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
    long result = enter_mounts();
    report->stage = NAMESPACE;
    if (result >= 0) {
        result = bind_to(cpus);
        report->stage = AFFINITY;
    }
    if (result >= 0) {
        report->stage = EXEC;
        result = CALL(__NR_execve, arguments[0], arguments + 1, environment, 0);
        if (result == -ENOEXEC) { /* a script without #! goes to the shell, as execvp(3) does */
            arguments[1] = arguments[0];
            arguments[0] = "/bin/sh";
            result = CALL(__NR_execve, arguments[0], arguments, environment, 0);
        }
    }
    report->error = -result;
    leave();
}

static long start(const char *cpus, char **arguments, char **environment, volatile struct report *report) {
    report->status = -1; /* nothing is known until it has been reaped */
    report->realtime = clock_ns(CLOCK_REALTIME);
    report->start = clock_ns(CLOCK_MONOTONIC);
    long process = share_fork();
    if (process == 0) become(cpus, arguments, environment, report);
    if (process < 0) {
        report->stage = FORK;
        report->error = -process;
    } else if (!report->error) {
        report->stage = RAN;
    }
    return process;
}

/* Waits until the program ends (1) or `until` has come or, unless the run is being ended, it is to be (0). */
static int wait_until(const struct run *run, int64_t until, enum reason *reason) {
    struct pollfd watched[3] = {
        {(int)run->pidfd, POLLIN, 0}, {*reason ? -1 : REPORT_FD, 0, 0}, {*reason ? -1 : CANCEL_FD, POLLIN, 0}};
    for (;;) {
        int64_t left = until - clock_ns(CLOCK_MONOTONIC);
        if (left < 0) left = 0;
        struct __kernel_timespec span = {left / SECOND, left % SECOND};
        long ready = call6(__NR_ppoll, (long)watched, 3, until < 0 ? 0 : (long)&span, 0, 0, 0);
        if (ready == -EINTR) continue;
        if (watched[0].revents) return 1;
        if (!*reason) *reason = ready > 0 ? CANCELLED : TIMED_OUT;
        return 0;
    }
}

static void await_end(struct run *run, struct report *report) {
    enum reason reason = NONE;
    if (!wait_until(run, run->timeout < 0 ? -1 : report->start + run->timeout, &reason)) {
        ask_tree_to_end();
        run->kill_at = clock_ns(CLOCK_MONOTONIC) + run->grace;
        if (!wait_until(run, run->kill_at, &reason)) {
            signal_tree(SIGKILL);
            wait_until(run, run->kill_at + GIVE_UP_AFTER, &reason);
        }
    }
    report->end = clock_ns(CLOCK_MONOTONIC);
    report->reason = reason;
}

/* Without a descriptor (RLIMIT_NOFILE) nothing can be awaited: it counts as not started. */
static void give_back(const struct run *run, struct report *report) {
    signal_tree(SIGKILL);
    report->stage = FORK;
    report->error = -run->pidfd;
}

static void reap(long process, struct report *report) {
    struct rusage usage;
    int status = 0;
    if (CALL(__NR_wait4, process, &status, WNOHANG, &usage) != process) return;
    report->status = status;
    report->user_us = usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec;
    report->system_us = usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec;
    report->max_rss_kib = usage.ru_maxrss;
    report->minor_faults = usage.ru_minflt;
    report->major_faults = usage.ru_majflt;
    report->blocks_in = usage.ru_inblock;
    report->blocks_out = usage.ru_oublock;
    report->voluntary = usage.ru_nvcsw;
    report->involuntary = usage.ru_nivcsw;
}

/* Reaps every child that has ended; whether any still lives. */
static int children_live(void) {
    long result;
    while ((result = CALL(__NR_wait4, -1, 0, WNOHANG, 0)) > 0) {}
    return result == 0;
}

/* Whether anything that the program started still lives; in namespaces of their own, orphans are no children of ours. */
static int tree_lives(void) { return children_live() || (host && signal_tree(0)); }

/* Ends what the program left behind: SIGTERM, grace, SIGKILL. */
static void clear_up(struct run *run, struct report *report) {
    struct __kernel_timespec pause = {0, SECOND / 1000};
    if (!tree_lives()) return;
    report->leftover = ask_tree_to_end();
    if (!run->kill_at) run->kill_at = clock_ns(CLOCK_MONOTONIC) + run->grace;
    while (tree_lives()) {
        int64_t late = clock_ns(CLOCK_MONOTONIC) - run->kill_at;
        if (late > GIVE_UP_AFTER) break;
        if (late >= 0) signal_tree(SIGKILL);
        CALL(__NR_nanosleep, &pause, 0, 0, 0);
    }
    report->surviving = tree_lives() ? signal_tree(0) : 0;
}

/* The C library's own two signals, which posix_spawn cannot put back to their default. */
static void forget_signals(void) {
    static const unsigned long standard[4] = {0};
    for (int signal = 32; signal <= 33; signal++) CALL(__NR_rt_sigaction, signal, standard, 0, 8);
}

_Noreturn void supervise(long *stack) {
    char **arguments = (char **)(stack + 1), **environment = arguments + stack[0] + 1;
    struct report report = {0};
    struct run run = {argument(arguments[1]), argument(arguments[2]), 0, 0, 0};
    long counters[MOST_COUNTERS] = {0};
    CALL(__NR_fcntl, REPORT_FD, F_SETFD, FD_CLOEXEC, 0);
    CALL(__NR_fcntl, CANCEL_FD, F_SETFD, FD_CLOEXEC, 0);
    CALL(__NR_close_range, 5, ~0U, 0, 0);
    forget_signals();
    CALL(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0);
    if (isolate(arguments[5], &report)) {
        open_counters(arguments[4], counters);
        run.process = start(arguments[3], arguments + 6, environment, &report);
    }
    if (report.stage == RAN) {
        run.pidfd = CALL(__NR_pidfd_open, run.process, 0, 0, 0);
        if (run.pidfd < 0) give_back(&run, &report);
        else await_end(&run, &report);
        reap(run.process, &report);
        read_counters(counters, &report);
        clear_up(&run, &report);
    }
    CALL(__NR_write, REPORT_FD, &report, sizeof report, 0);
    leave();
}
