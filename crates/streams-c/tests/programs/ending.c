/* Ends that are no omlc_close: a signal, the end of main, a fork. The first argument says which. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <oml2/omlc.h>

static OmlMPDef one[] = {{"n", OML_INT32_VALUE}, {NULL, (OmlValueT)0}};

static void own(int number) {
  (void)number;
  _exit(77);
}

/* Whoever started the test may ignore a signal (nohup), which a program inherits, and which would stay so. */
static void ignore_nothing(void) {
  static const int endings[] = {SIGINT, SIGHUP, SIGTERM, SIGPIPE};
  for (unsigned i = 0; i < sizeof endings / sizeof *endings; i++) signal(endings[i], SIG_DFL);
}

int main(int argc, const char **argv) {
  ignore_nothing();
  if (omlc_init("ending", &argc, argv, NULL) < 0 || argc < 2) return 1;
  const char *how = argv[1];
  OmlMP *mp = omlc_add_mp("m", one);
  if (strcmp(how, "own") == 0) signal(SIGTERM, own); /* what the program handles stays its own */
  if (omlc_start() != 0) return 2;
  OmlValueU v;
  omlc_zero(v);
  for (int i = 0; i < 5; i++) {
    omlc_set_int32(v, i);
    omlc_inject(mp, &v);
  }
  if (strcmp(how, "main") == 0) return 0;
  if (strcmp(how, "fork") == 0) {
    pid_t child = fork();
    if (child == 0) exit(5); /* must not wait for a writer that it does not have */
    int status;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 5) return 3;
    child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    usleep(20000);
    kill(child, SIGTERM); /* must end the child alone */
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? 0 : 4;
  }
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}
