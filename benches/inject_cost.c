/* What one inject of three int32 costs the calling thread, through OML's call and through the modern one. Compare with
 * `cargo run --release -p trialwise-streams --example inject_cost`, which measures the Rust call in the same way: the mean
 * over batches, and single calls with the clock's own cost in them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <oml2/omlc.h>
#include <trialwise/streams.h>

enum { BATCH = 10000, BATCHES = 400, SINGLES = BATCH * 100 };

static OmlMPDef fields[] = {{"a", OML_INT32_VALUE}, {"b", OML_INT32_VALUE}, {"c", OML_INT32_VALUE}, {NULL, (OmlValueT)0}};
static OmlMP *mp;
static tw_point *point;
static double times[SINGLES];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The writer works the ring off meanwhile: the cost is measured without loss. */
static void rest(void) {
  const struct timespec pause = {0, 3000000};
  nanosleep(&pause, NULL);
}

static void nothing(int number) { __asm__ volatile("" : : "r"(number)); }

static void oml(int number) {
  OmlValueU values[3];
  omlc_zero_array(values, 3);
  omlc_set_int32(values[0], number);
  omlc_set_int32(values[1], -number);
  omlc_set_int32(values[2], 7);
  omlc_inject(mp, values);
}

static void modern(int number) {
  const int32_t values[] = {number, -number, 7};
  tw_inject_int32(point, values, 3);
}

static int ascending(const void *left, const void *right) {
  const double difference = *(const double *)left - *(const double *)right;
  return (difference > 0) - (difference < 0);
}

static void describe(const char *what, const char *how, int count) {
  qsort(times, (size_t)count, sizeof *times, ascending);
  printf("%s, %s: median %.0f ns, p99.9 %.0f ns (n = %d)\n", what, how, times[count / 2],
         times[(int)((count - 1) * 0.999)], count);
}

static void measure(const char *what, void (*call)(int)) {
  for (int batch = 0; batch < BATCHES; batch++) {
    rest();
    const double start = now();
    for (int number = 0; number < BATCH; number++) call(number);
    times[batch] = (now() - start) / BATCH;
  }
  describe(what, "mean of a batch of 10000", BATCHES);
  for (int index = 0; index < SINGLES; index++) {
    if (index % BATCH == 0) rest();
    const double start = now();
    call(index);
    times[index] = now() - start;
  }
  describe(what, "single injects", SINGLES);
}

int main(int argc, char **argv) {
  const char *again[16] = {NULL}; /* each call takes its options out of the arguments */
  int arguments = argc;
  for (int index = 0; index < argc && index < 15; index++) again[index] = argv[index];
  if (omlc_init("cost", &arguments, again, NULL) != 0) return 1;
  mp = omlc_add_mp("m", fields);
  if (omlc_start() != 0) return 1;
  measure("the clock alone", nothing);
  measure("C, omlc_inject", oml);
  const int closed = omlc_close();
  tw_session *session;
  const tw_field typed[] = {{"a", TW_INT32}, {"b", TW_INT32}, {"c", TW_INT32}};
  if (tw_open_arguments("cost", &argc, argv, &session) != TW_OK) return 2;
  if (tw_declare(session, "m", typed, 3, &point) != TW_OK || tw_start(session) != TW_OK) return 2;
  measure("C, tw_inject_int32", modern);
  printf("%s\n", closed == 0 && tw_close(session, 10000, NULL) == TW_OK ? "nothing lost" : "something was lost");
  tw_free(session);
  return 0;
}
