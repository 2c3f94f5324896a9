/* What goes back to whoever asked: one struct answer, with descriptors. */

#include "helper.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Kept in step with `Answer` in src/handover.rs. */
static struct {
    int32_t stage, error, kind;
    struct block block;
} body;

void describe(enum kind kind, struct block block)
{
    body.kind = (int32_t)kind;
    body.block = block;
}

void answer(enum stage stage, int error, const int *descriptors, size_t count)
{
    struct iovec vector = {&body, sizeof body};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * PARTS)];
    } control = {0};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    body.stage = (int32_t)stage;
    body.error = error;
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

void refuse(enum stage stage)
{
    answer(stage, errno, NULL, 0);
    _exit(1);
}
