/* Instrumented in C: every sorted block is a sample of measurement point `block`. */
#include <stdio.h>

#include <trialwise/streams.h>

#include "blocks.h"

static void run(const tw_point *point) {
  static uint32_t block[SIZE];
  uint32_t state = 1;
  for (int number = 0; number < BLOCKS; number++) {
    state = fill(block, state);
    const tw_value values[] = {tw_uint32(SIZE), tw_double(sort(block))};
    tw_inject(point, values, 2); /* what is lost is counted, and tw_close tells */
  }
}

int main(int argc, char **argv) {
  const tw_field fields[] = {{"size", TW_UINT32}, {"seconds", TW_DOUBLE}};
  tw_session *session;
  tw_point *point;
  if (tw_open_arguments("work", &argc, argv, &session) != TW_OK || tw_declare(session, "block", fields, 2, &point) != TW_OK ||
      tw_start(session) != TW_OK) {
    fprintf(stderr, "%s\n", tw_last_error());
    return 2;
  }
  run(point);
  const tw_error closed = tw_close(session, 2000, NULL);
  tw_free(session);
  if (closed != TW_OK) fprintf(stderr, "%s\n", tw_error_text(closed));
  return closed == TW_OK ? 0 : 1;
}
