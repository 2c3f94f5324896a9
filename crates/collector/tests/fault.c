/* Makes the COUNT-th file operation below FOLDER fail: MODE is kill (before it), torn (half a write, then kill), eio or enospc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long left = -1;

static int is_ours(int fd, const char *path) {
    char link[64], target[4096];
    const char *folder = getenv("TRIALWISE_FAULT_FOLDER");
    if (!folder) return 0;
    if (!path) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof target - 1);
        if (length < 0) return 0;
        target[length] = 0;
        path = target;
    }
    return strncmp(path, folder, strlen(folder)) == 0;
}

/* 0: go on; else the error to give. Writes may be torn. */
static int fault(int fd, const char *path, const void *bytes, size_t length) {
    if (!is_ours(fd, path)) return 0;
    if (left < 0) left = atol(getenv("TRIALWISE_FAULT_COUNT"));
    if (left == 0 || --left > 0) return 0;
    const char *mode = getenv("TRIALWISE_FAULT_MODE");
    ssize_t (*really_write)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    if (strcmp(mode, "eio") == 0) return EIO;
    if (strcmp(mode, "enospc") == 0) return bytes ? ENOSPC : 0;
    if (strcmp(mode, "torn") == 0 && bytes && really_write(fd, bytes, length / 2) < 0) return EIO;
    kill(getpid(), SIGKILL);
    return EIO;
}

#define GIVE(type, name, parameters, arguments, fd, path, bytes, length) \
    type name parameters { \
        static type (*really) parameters; \
        if (!really) really = dlsym(RTLD_NEXT, #name); \
        int error = fault(fd, path, bytes, length); \
        if (error) { errno = error; return -1; } \
        return really arguments; \
    }

GIVE(ssize_t, write, (int fd, const void *bytes, size_t length), (fd, bytes, length), fd, NULL, bytes, length)
GIVE(ssize_t, pwrite64, (int fd, const void *bytes, size_t length, off64_t at), (fd, bytes, length, at), fd, NULL, NULL, 0)
GIVE(int, fsync, (int fd), (fd), fd, NULL, NULL, 0)
GIVE(int, fdatasync, (int fd), (fd), fd, NULL, NULL, 0)
GIVE(int, rename, (const char *from, const char *to), (from, to), -1, from, NULL, 0)
GIVE(int, unlink, (const char *path), (path), -1, path, NULL, 0)
GIVE(int, ftruncate64, (int fd, off64_t length), (fd, length), fd, NULL, NULL, 0)
