/* The log: where messages of the library and of the program go. In C, for the sake of o_log's arguments. */
#define _POSIX_C_SOURCE 200809L

#include "ocomm/o_log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int most_detailed = O_LOG_INFO;
static _Atomic(o_log_fn) custom;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file; /* standard error while NULL */

static const char *level_name(int level) {
  if (level <= O_LOG_ERROR) return "ERROR";
  if (level == O_LOG_WARN) return "WARN";
  return level == O_LOG_INFO ? "INFO" : "DEBUG";
}

/* One line, whole also when several threads write. */
static void write_line(int level, const char *text) {
  size_t length = strlen(text);
  const char *end = length > 0 && text[length - 1] == '\n' ? "" : "\n";
  pthread_mutex_lock(&lock);
  FILE *out = file != NULL ? file : stderr;
  fprintf(out, "%s\t%s%s", level_name(level), text, end);
  fflush(out);
  pthread_mutex_unlock(&lock);
}

static void deliver(int level, const char *text) {
  o_log_fn function = atomic_load(&custom);
  if (function != NULL) {
    function(level, "%s", text);
  } else {
    write_line(level, text);
  }
}

int trialwise_log_level_active(int level) { return level <= atomic_load(&most_detailed); }

/* What o_log jumps to. */
void trialwise_o_log(int level, const char *format, ...) {
  if (format == NULL || !trialwise_log_level_active(level)) return;
  char small[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(small, sizeof small, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  if ((size_t)length < sizeof small) {
    deliver(level, small);
    return;
  }
  char *large = malloc((size_t)length + 1);
  if (large == NULL) {
    deliver(level, small);
    return;
  }
  va_start(arguments, format);
  vsnprintf(large, (size_t)length + 1, format, arguments);
  va_end(arguments);
  deliver(level, large);
  free(large);
}

void trialwise_set_log_level(int level) { atomic_store(&most_detailed, level); }

o_log_fn trialwise_set_log(o_log_fn function) { return atomic_exchange(&custom, function); }

int trialwise_set_log_file(const char *name) {
  FILE *opened = NULL;
  if (name != NULL && strcmp(name, "-") != 0 && (opened = fopen(name, "a")) == NULL) return -1;
  pthread_mutex_lock(&lock);
  if (file != NULL) fclose(file);
  file = opened;
  pthread_mutex_unlock(&lock);
  return 0;
}
