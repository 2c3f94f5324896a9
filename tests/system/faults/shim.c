/* Preloaded into a runner: ends it, tears a write, or reports a full disk at the n-th write or sync below a folder.
 *
 * FAULT_FOLDER  only files below it count
 * FAULT_AT      the call that is hit, counted from 1; 0 counts only
 * FAULT_KIND    kill (before the call), torn (half of the write, then the end), full (ENOSPC from that call on)
 * FAULT_COUNT   file that receives the number of calls so far (with FAULT_AT=0)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long calls = 0;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void find_real(void) {
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_rename = dlsym(RTLD_NEXT, "rename");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
}

static int is_below(const char *path) {
    const char *folder = getenv("FAULT_FOLDER");
    return folder && *folder && strncmp(path, folder, strlen(folder)) == 0;
}

static int concerns(int descriptor) {
    char link[64], path[PATH_MAX];
    if (!getenv("FAULT_FOLDER")) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_below(path);
}

enum fault { NONE, KILL, TORN, FULL };

/* The fault that hits this call. */
static enum fault next(void) {
    const char *at_text = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND"), *count = getenv("FAULT_COUNT");
    long at = at_text ? atol(at_text) : 0;
    calls++;
    if (count) {
        char text[32];
        int length = snprintf(text, sizeof text, "%ld\n", calls);
        int file = open(count, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (file >= 0) {
            real_write(file, text, length);
            close(file);
        }
    }
    if (at <= 0 || !kind) return NONE;
    if (!strcmp(kind, "full")) return calls >= at ? FULL : NONE;
    if (calls != at) return NONE;
    return !strcmp(kind, "torn") ? TORN : KILL;
}

static void end(void) { kill(getpid(), SIGKILL); }

ssize_t write(int descriptor, const void *data, size_t length) {
    if (concerns(descriptor)) switch (next()) {
        case KILL: end(); break;
        case TORN: real_write(descriptor, data, length / 2); end(); break;
        case FULL: errno = ENOSPC; return -1;
        case NONE: break;
        }
    return real_write(descriptor, data, length);
}

ssize_t pwrite64(int descriptor, const void *data, size_t length, off_t offset) {
    if (concerns(descriptor)) switch (next()) {
        case KILL: end(); break;
        case TORN: real_pwrite(descriptor, data, length / 2, offset); end(); break;
        case FULL: errno = ENOSPC; return -1;
        case NONE: break;
        }
    return real_pwrite(descriptor, data, length, offset);
}

ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset) {
    return pwrite64(descriptor, data, length, offset);
}

int fsync(int descriptor) {
    if (concerns(descriptor) && next() != NONE) {
        if (!strcmp(getenv("FAULT_KIND"), "full")) { errno = ENOSPC; return -1; }
        end();
    }
    return real_fsync(descriptor);
}

int fdatasync(int descriptor) {
    if (concerns(descriptor) && next() != NONE) {
        if (!strcmp(getenv("FAULT_KIND"), "full")) { errno = ENOSPC; return -1; }
        end();
    }
    return real_fdatasync(descriptor);
}

int ftruncate64(int descriptor, off_t length) {
    if (concerns(descriptor)) {
        enum fault fault = next();
        if (fault == KILL || fault == TORN) end();
    }
    return real_ftruncate(descriptor, length);
}

int ftruncate(int descriptor, off_t length) { return ftruncate64(descriptor, length); }

int rename(const char *from, const char *to) {
    if (is_below(to)) {
        enum fault fault = next();
        if (fault == KILL || fault == TORN) end();
        if (fault == FULL) { errno = ENOSPC; return -1; }
    }
    return real_rename(from, to);
}

int unlink(const char *path) {
    if (is_below(path)) {
        enum fault fault = next();
        if (fault == KILL || fault == TORN) end();
    }
    return real_unlink(path);
}
