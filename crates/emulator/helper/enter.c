/* Bringing a program into the namespaces of a path, and ending as it ends. */

#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* What a terminal takes for commands is shown as escapes: C0, DEL and, in UTF-8, C1 and the marks of direction. */
static void print_visible(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        int is_c0 = *at < 0x20 || *at == 0x7f;
        int is_c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f;
        int is_mark = at[0] == 0xe2 && (at[1] == 0x80 || at[1] == 0x81) && at[2];
        int escaped = is_c0 ? 1 : is_c1 ? 2 : is_mark ? 3 : 0;
        if (!escaped)
            fputc(*at++, stderr);
        for (; escaped; escaped--)
            fprintf(stderr, "\\x%02x", *at++);
    }
}

static void execute(char **arguments)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(arguments[0], arguments);
    int why = errno;
    fputs("trialwise: cannot start ", stderr);
    print_visible(arguments[0]);
    fprintf(stderr, ": %s\n", strerror(why));
    _exit(why == ENOENT ? 127 : 126);
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

int enter(char **arguments)
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
