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
 * program is to enter first. Then nothing else but PROCESS is to be a child of PROCESS: what is, is of this run. A "+" at the
 * end asks to follow the program: see "following".
 *
 * Descriptor 3: where the report goes; its reader's end closing means that the caller is gone.
 * Descriptor 4: what abandons the run when it is readable (descriptor 3 again when nothing does).
 * Descriptor 5: where the notes of following go; there only when that is asked for.
 * Standard descriptors, environment, working directory and signals are already those of the program. */

#include <asm/unistd.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
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
#define NOTES_FD 5
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
#define MAX_CPUS 1024
#define MAX_PROCESSES 65536
#define MAX_COUNTERS 16

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
    struct reading counters[MAX_COUNTERS];
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
    unsigned long mask[MAX_CPUS / 64] = {0};
    if (*cpus == '-') return 0;
    for (; *cpus; cpus += *cpus == ',') {
        int64_t cpu = integer(&cpus);
        if (cpu < MAX_CPUS) mask[cpu / 64] |= 1UL << (cpu % 64);
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
    for (int index = 0; *list && *list != '-' && index < MAX_COUNTERS; list += *list == ',')
        counters[index++] = open_counter(&list);
}

static void read_counters(const long *counters, struct report *report) {
    for (int index = 0; index < MAX_COUNTERS; index++) {
        if (!counters[index]) continue;
        struct reading *reading = &report->counters[index];
        long result = counters[index];
        if (result > 0) result = CALL(__NR_read, counters[index], reading, 3 * sizeof(int64_t), 0);
        if (result < 0) reading->error = -result;
    }
}

/* ---- the process tree ---- */

static int32_t process_id[MAX_PROCESSES], parent_id[MAX_PROCESSES];
static char in_tree[MAX_PROCESSES];

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
            if (!parent || count == MAX_PROCESSES) continue;
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

/* ---- following ----
 *
 * Which programs a run consists of is seen by ptrace(2): events of new processes, of programs that they become, and of their ends;
 * system calls are not stopped at. Notes are written for each: 'E' when a process has become a program (its file, its working
 * directory, its standard input, its words, each with a zero behind), 'M' for each file that was mapped executable at the end of
 * a process, once, and at last 'S' with the number of stops and the error that kept us from following. Before each stands its
 * kind in four bytes and the length of what follows in four. */

#define MAX_NOTES (4 << 20)
#define MAX_WORDS 32768
#define SEEN_MAPPINGS 4096
#define WALL 0x40000000
#define EVENT_STOP 128

static int following;
static int64_t stops, follow_error;
static long notes_size;
static uint64_t seen_mappings[SEEN_MAPPINGS];
static char text[65536 + 64];

static void note(char kind, const char *content, long length) {
    struct {
        char kind[4];
        uint32_t length;
    } head = {{kind, 0, 0, 0}, (uint32_t)length};
    notes_size += length + (long)sizeof head;
    if (notes_size > MAX_NOTES) return;
    CALL(__NR_write, NOTES_FD, &head, sizeof head, 0);
    CALL(__NR_write, NOTES_FD, content, length, 0);
}

/* "/proc/PROCESS/NAME" */
static const char *process_path(long process, const char *name) {
    static char path[64];
    char digits[12], *at = path;
    int count = 0;
    for (const char *from = "/proc/"; *from; from++) *at++ = *from;
    do digits[count++] = (char)('0' + process % 10);
    while ((process /= 10) > 0);
    while (count) *at++ = digits[--count];
    while (*name) *at++ = *name++;
    *at = 0;
    return path;
}

static long add_link(long length, long process, const char *name) {
    long result = CALL(__NR_readlinkat, AT_FDCWD, process_path(process, name), text + length, 4096);
    length += result > 0 ? result : 0;
    text[length++] = 0;
    return length;
}

static void note_program(long process) {
    long length = add_link(add_link(add_link(0, process, "/exe"), process, "/cwd"), process, "/fd/0");
    long fd = CALL(__NR_openat, AT_FDCWD, process_path(process, "/cmdline"), 0, 0), result;
    const long most = length + MAX_WORDS;
    while (fd >= 0 && length < most && (result = CALL(__NR_read, fd, text + length, most - length, 0)) > 0)
        length += result;
    if (fd >= 0) CALL(__NR_close, fd, 0, 0, 0);
    note('E', text, length);
}

static int is_new(const char *path, const char *end) {
    uint64_t hash = 14695981039346656037ULL; /* FNV-1a */
    for (; path < end; path++) hash = (hash ^ (unsigned char)*path) * 1099511628211ULL;
    uint64_t *place = &seen_mappings[hash % SEEN_MAPPINGS];
    if (*place == hash) return 0;
    *place = hash;
    return 1;
}

/* A line of /proc/PROCESS/maps: "START-END rwxp OFFSET DEVICE INODE   PATH". */
static void note_mapping(const char *line, const char *end) {
    const char *at = line;
    while (at < end && *at != ' ') at++;
    if (end - at < 5 || at[3] != 'x') return;
    while (at < end && *at != '/') at++;
    if (at < end && is_new(at, end)) note('M', at, end - at);
}

static void note_mappings(long process) {
    long fd = CALL(__NR_openat, AT_FDCWD, process_path(process, "/maps"), 0, 0), length = 0, result;
    while (fd >= 0 && (result = CALL(__NR_read, fd, text + length, 65536 - length, 0)) > 0) {
        long begin = 0;
        length += result;
        for (long at = 0; at < length; at++)
            if (text[at] == '\n') {
                note_mapping(text + begin, text + at);
                begin = at + 1;
            }
        if (begin == 0) break; /* a line longer than any path */
        length -= begin;
        for (volatile char *at = text; at < text + length; at++) *at = at[begin]; /* no call of memmove(3) */
    }
    if (fd >= 0) CALL(__NR_close, fd, 0, 0, 0);
}

static long trace(long request, long process, long data) { return CALL(__NR_ptrace, request, process, 0, data); }

static void handle_stop(long process, int status) {
    int signal = (status >> 8) & 0xff, event = status >> 16;
    stops++;
    if (event == PTRACE_EVENT_EXEC) note_program(process);
    /* The first thread of a process speaks for all. */
    if (event == PTRACE_EVENT_EXIT && CALL(__NR_tgkill, process, process, 0, 0) == 0) note_mappings(process);
    if (event == EVENT_STOP && signal != 5 /* SIGTRAP: it has just begun, or goes on */) trace(PTRACE_LISTEN, process, 0);
    else trace(PTRACE_CONT, process, event ? 0 : signal);
}

/* ---- one run ---- */

struct run {
    int64_t timeout, grace, kill_at;
    long process, pidfd, changes;
};

static void keep_usage(const struct rusage *usage, int status, struct report *report) {
    report->status = status;
    report->user_us = usage->ru_utime.tv_sec * 1000000 + usage->ru_utime.tv_usec;
    report->system_us = usage->ru_stime.tv_sec * 1000000 + usage->ru_stime.tv_usec;
    report->max_rss_kib = usage->ru_maxrss;
    report->minor_faults = usage->ru_minflt;
    report->major_faults = usage->ru_majflt;
    report->blocks_in = usage->ru_inblock;
    report->blocks_out = usage->ru_oublock;
    report->voluntary = usage->ru_nvcsw;
    report->involuntary = usage->ru_nivcsw;
}

/* Takes in what has happened to processes: ends, and stops of those that are followed; whether any still lives. */
static int take_changes(const struct run *run, struct report *report) {
    for (;;) {
        struct rusage usage;
        int status = 0;
        long process = CALL(__NR_wait4, -1, &status, WNOHANG | (following ? WALL : 0), &usage);
        if (process <= 0) return process == 0;
        if ((status & 0xff) == 0x7f) handle_stop(process, status);
        else if (process == run->process) keep_usage(&usage, status, report);
    }
}

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

/* In the child of `start_followed`, whose memory is its own, but for the report: it begins when it is followed. */
_Noreturn static void become_followed(
    const char *cpus, char **arguments, char **environment, volatile struct report *report, const int *gate) {
    static const unsigned long none[1] = {0};
    char byte;
    CALL(__NR_close, gate[1], 0, 0, 0);
    CALL(__NR_read, gate[0], &byte, 1, 0);
    CALL(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, none, 0, 8);
    become(cpus, arguments, environment, report);
}

/* A child that shares our memory would hold us until it is the program, which is too late to follow it. */
static long start_followed(const char *cpus, char **arguments, char **environment, volatile struct report *report) {
    const long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT;
    int gate[2];
    long process = CALL(__NR_pipe2, gate, 02000000 /* O_CLOEXEC */, 0, 0);
    if (process == 0) process = CALL(__NR_clone, SIGCHLD, 0, 0, 0);
    if (process == 0) become_followed(cpus, arguments, environment, report, gate);
    if (process > 0) {
        follow_error = -trace(PTRACE_SEIZE, process, options);
        following = follow_error == 0;
    }
    CALL(__NR_close, gate[0], 0, 0, 0);
    report->realtime = clock_ns(CLOCK_REALTIME);
    report->start = clock_ns(CLOCK_MONOTONIC);
    CALL(__NR_close, gate[1], 0, 0, 0);
    return process;
}

static long start_shared(const char *cpus, char **arguments, char **environment, volatile struct report *report) {
    report->realtime = clock_ns(CLOCK_REALTIME);
    report->start = clock_ns(CLOCK_MONOTONIC);
    long process = share_fork();
    if (process == 0) become(cpus, arguments, environment, report);
    return process;
}

static long start(int follow, const char *cpus, char **arguments, char **environment, volatile struct report *report) {
    report->status = -1; /* nothing is known until it has been reaped */
    long process = (follow ? start_followed : start_shared)(cpus, arguments, environment, report);
    if (process < 0) {
        report->stage = FORK;
        report->error = -process;
    } else if (!follow && !report->error) {
        report->stage = RAN;
    }
    return process;
}

/* Waits until the program ends (1) or `until` has come or, unless the run is being ended, it is to be (0). */
static int wait_until(const struct run *run, int64_t until, enum reason *reason, struct report *report) {
    struct pollfd watched[4] = {{(int)run->pidfd, POLLIN, 0},
                                {*reason ? -1 : REPORT_FD, 0, 0},
                                {*reason ? -1 : CANCEL_FD, POLLIN, 0},
                                {(int)run->changes, POLLIN, 0}};
    for (;;) {
        int64_t left = until - clock_ns(CLOCK_MONOTONIC);
        if (left < 0) left = 0;
        struct __kernel_timespec span = {left / SECOND, left % SECOND};
        long ready = call6(__NR_ppoll, (long)watched, 4, until < 0 ? 0 : (long)&span, 0, 0, 0);
        if (ready == -EINTR) continue;
        if (watched[0].revents) return 1;
        if (ready == 1 && watched[3].revents) {
            char signals[128 * 16]; /* signalfd_siginfo has 128 bytes */
            CALL(__NR_read, run->changes, signals, sizeof signals, 0);
            take_changes(run, report);
            continue;
        }
        if (!*reason) *reason = ready > 0 ? CANCELLED : TIMED_OUT;
        return 0;
    }
}

static void await_end(struct run *run, struct report *report) {
    enum reason reason = NONE;
    if (!wait_until(run, run->timeout < 0 ? -1 : report->start + run->timeout, &reason, report)) {
        ask_tree_to_end();
        run->kill_at = clock_ns(CLOCK_MONOTONIC) + run->grace;
        if (!wait_until(run, run->kill_at, &reason, report)) {
            signal_tree(SIGKILL);
            wait_until(run, run->kill_at + GIVE_UP_AFTER, &reason, report);
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

/* Whether anything that the program started still lives; in namespaces of their own, orphans are no children of ours. */
static int tree_lives(const struct run *run, struct report *report) {
    return take_changes(run, report) || (host && signal_tree(0));
}

/* Ends what the program left behind: SIGTERM, grace, SIGKILL. */
static void clear_up(struct run *run, struct report *report) {
    struct __kernel_timespec pause = {0, SECOND / 1000};
    if (!tree_lives(run, report)) return;
    report->leftover = ask_tree_to_end();
    if (!run->kill_at) run->kill_at = clock_ns(CLOCK_MONOTONIC) + run->grace;
    while (tree_lives(run, report)) {
        int64_t late = clock_ns(CLOCK_MONOTONIC) - run->kill_at;
        if (late > GIVE_UP_AFTER) break;
        if (late >= 0) signal_tree(SIGKILL);
        CALL(__NR_nanosleep, &pause, 0, 0, 0);
    }
    report->surviving = tree_lives(run, report) ? signal_tree(0) : 0;
}

/* The C library's own two signals, which posix_spawn cannot put back to their default. */
static void forget_signals(void) {
    static const unsigned long standard[4] = {0};
    for (int signal = 32; signal <= 33; signal++) CALL(__NR_rt_sigaction, signal, standard, 0, 8);
}

/* The report lies where a child with memory of its own can write into it, too. */
static struct report *shared_report(void) {
    long place = call6(__NR_mmap, 0, sizeof(struct report), 3 /* read, write */, 0x21 /* MAP_SHARED | MAP_ANONYMOUS */, -1, 0);
    if (place < 0 && place > -4096) leave();
    return (struct report *)place;
}

static int asks_to_follow(const char *namespaces) {
    while (*namespaces && *namespaces != '+') namespaces++;
    return *namespaces == '+';
}

/* Changes of processes become readable; nothing is missed between looking and sleeping. */
static long open_changes(void) {
    static const unsigned long child[1] = {1UL << (SIGCHLD - 1)};
    CALL(__NR_rt_sigprocmask, 0 /* SIG_BLOCK */, child, 0, 8);
    return CALL(__NR_signalfd4, -1, child, 8, 02004000 /* SFD_CLOEXEC | SFD_NONBLOCK */);
}

static void note_totals(void) {
    int64_t totals[2] = {stops, follow_error};
    notes_size = 0;
    note('S', (const char *)totals, sizeof totals);
}

_Noreturn void supervise(long *stack) {
    char **arguments = (char **)(stack + 1), **environment = arguments + stack[0] + 1;
    struct report *report = shared_report();
    struct run run = {argument(arguments[1]), argument(arguments[2]), 0, 0, 0, -1};
    long counters[MAX_COUNTERS] = {0};
    const int follow = asks_to_follow(arguments[5]);
    CALL(__NR_fcntl, REPORT_FD, F_SETFD, FD_CLOEXEC, 0);
    CALL(__NR_fcntl, CANCEL_FD, F_SETFD, FD_CLOEXEC, 0);
    if (follow) CALL(__NR_fcntl, NOTES_FD, F_SETFD, FD_CLOEXEC, 0);
    CALL(__NR_close_range, follow ? 6 : 5, ~0U, 0, 0);
    forget_signals();
    CALL(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0);
    if (isolate(arguments[5], report)) {
        open_counters(arguments[4], counters);
        if (follow) run.changes = open_changes();
        run.process = start(follow, arguments[3], arguments + 6, environment, report);
    }
    if (run.process > 0 && (follow || report->stage == RAN)) {
        run.pidfd = CALL(__NR_pidfd_open, run.process, 0, 0, 0);
        if (run.pidfd < 0) give_back(&run, report);
        else await_end(&run, report);
        read_counters(counters, report);
        clear_up(&run, report);
        if (follow) note_totals();
        if (!report->error) report->stage = RAN; /* one that is followed says by itself how far it came */
    }
    CALL(__NR_write, REPORT_FD, report, sizeof *report, 0);
    leave();
}
