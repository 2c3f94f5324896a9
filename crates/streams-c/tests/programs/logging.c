/* The log: levels, long messages, a function of the program's own. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <ocomm/o_log.h>
#include <oml2/omlc.h>

static void own(int level, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("own %d: ", level);
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
}

int main(int argc, const char **argv) {
  char wide[2000];
  memset(wide, 'w', sizeof wide - 1);
  wide[sizeof wide - 1] = '\0';
  logwarn("before %d %s %.1f %ld\n", 1, "two", 3.0, 4L);
  logdebug("not shown\n");
  o_set_log_level(O_LOG_DEBUG);
  logdebug("shown");
  loginfo("%s", wide);
  if (o_set_log_file("/nowhere/log") != -1) return 1;
  if (o_set_log_file("-") != 0) return 4; /* standard error, as in liboml2: standard output may be a stream's */
  loginfo("there");
  if (omlc_init("logging", &argc, argv, own) < 0) return 2;
  logerror("%s %s %s %s %s %s %g\n", "a", "b", "c", "d", "e", "f", 0.5);
  if (o_set_log(own) != own) return 3;
  o_set_simplified_logging();
  return o_set_log(NULL) == NULL ? 0 : 5;
}
