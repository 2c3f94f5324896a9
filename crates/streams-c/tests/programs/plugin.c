/* As a plugin measures: arguments that it makes itself, without a program's name; points that come after the start; and
 * nothing included but omlc.h. */
#include <oml2/omlc.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void quiet(int level, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (level < O_LOG_WARN) vfprintf(stderr, format, arguments);
  va_end(arguments);
}

int main(void) {
  const char *argv[] = {"--oml-id",  "host",     "--own",     "--oml-domain", "plugins",
                        "value", "--oml-collect", "file:out"};
  int argc = 8;
  if (omlc_init("collectd", &argc, argv, quiet) != 0 || omlc_start() != 0) return 1;
  OmlValueU version;
  omlc_zero(version);
  omlc_set_string(version, "1.0");
  if (omlc_inject_metadata(NULL, "version", &version, OML_STRING_VALUE, NULL) != 0) return 2;
  omlc_reset_string(version);

  OmlMPDef *fields = calloc(3, sizeof *fields);
  if (fields == NULL) return errno;
  fields[0].name = "time";
  fields[0].param_types = OML_UINT64_VALUE;
  fields[1].name = "key";
  fields[1].param_types = OML_BLOB_VALUE;
  OmlMP *load = omlc_add_mp("load", fields);
  free(fields);
  OmlValueU v[2];
  omlc_zero_array(v, 2);
  omlc_set_uint64(v[0], UINT64_C(1) << 63);
  omlc_set_blob_copy(v[1], "abc", 3);
  pthread_mutex_lock(&lock);
  const int injected = omlc_inject(load, v);
  pthread_mutex_unlock(&lock);
  omlc_reset_blob(v[1]);
  printf("%d arguments left: %s %s\n", argc, argv[0], argv[1]);
  return injected != 0 || omlc_close() != 0 ? 3 : 0;
}
