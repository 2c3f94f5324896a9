/* Makes the COUNT-th file operation below FOLDER fail: MODE is kill (before it), torn (half a write, then kill), eio or enospc.
   In mode lost, the COUNT-th sync fails, and what the file got since its last one is gone, as on a disk that has failed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Which files have been synced, and how long they were then. */
static struct { ino_t file; off_t size; } synced[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Notes a sync, or throws away what was written since the last one. */
static void sync_file(int fd, int lost) {
    struct stat status;
    int (*really_truncate)(int, off_t) = dlsym(RTLD_NEXT, "ftruncate64");
    if (fstat(fd, &status) || !S_ISREG(status.st_mode)) return;
    pthread_mutex_lock(&lock);
    int index = 0;
    while (index < 4095 && synced[index].file && synced[index].file != status.st_ino) index++;
    off_t size = synced[index].file == status.st_ino && synced[index].size <= status.st_size ? synced[index].size : 0;
    synced[index].file = status.st_ino;
    synced[index].size = lost ? size : status.st_size;
    if (lost && really_truncate(fd, size)) abort();
    pthread_mutex_unlock(&lock);
}

/* 0: go on; else the error to give. Writes may be torn; at is where a write goes, or -1. */
static int fault(int fd, const char *path, const void *bytes, size_t length, off_t at, int is_sync) {
    if (!is_ours(fd, path)) return 0;
    const char *mode = getenv("TRIALWISE_FAULT_MODE");
    if (strcmp(mode, "lost") == 0) {
        if (!is_sync) return 0;
        if (left < 0) left = atol(getenv("TRIALWISE_FAULT_COUNT"));
        int lost = left > 0 && --left == 0;
        sync_file(fd, lost);
        return lost ? EIO : 0;
    }
    if (left < 0) left = atol(getenv("TRIALWISE_FAULT_COUNT"));
    if (left == 0 || --left > 0) return 0;
    ssize_t (*really_write)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    ssize_t (*really_pwrite)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");
    if (strcmp(mode, "eio") == 0) return EIO;
    if (strcmp(mode, "enospc") == 0) return bytes ? ENOSPC : 0;
    if (strcmp(mode, "torn") == 0 && bytes) {
        ssize_t half = at < 0 ? really_write(fd, bytes, length / 2) : really_pwrite(fd, bytes, length / 2, at);
        if (half < 0) return EIO;
    }
    kill(getpid(), SIGKILL);
    return EIO;
}

#define GIVE(type, name, parameters, arguments, fd, path, bytes, length, at, is_sync) \
    type name parameters { \
        static type (*really) parameters; \
        if (!really) really = dlsym(RTLD_NEXT, #name); \
        int error = fault(fd, path, bytes, length, at, is_sync); \
        if (error) { errno = error; return -1; } \
        return really arguments; \
    }

GIVE(ssize_t, write, (int fd, const void *bytes, size_t length), (fd, bytes, length), fd, NULL, bytes, length, -1, 0)
GIVE(ssize_t, pwrite64, (int fd, const void *bytes, size_t length, off64_t at), (fd, bytes, length, at), fd, NULL, bytes, length, at, 0)
GIVE(int, fsync, (int fd), (fd), fd, NULL, NULL, 0, -1, 1)
GIVE(int, fdatasync, (int fd), (fd), fd, NULL, NULL, 0, -1, 1)
GIVE(int, rename, (const char *from, const char *to), (from, to), -1, from, NULL, 0, -1, 0)
GIVE(int, unlink, (const char *path), (path), -1, path, NULL, 0, -1, 0)
GIVE(int, ftruncate64, (int fd, off64_t length), (fd, length), fd, NULL, NULL, 0, -1, 0)
