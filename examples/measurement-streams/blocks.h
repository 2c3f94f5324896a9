/* The work that every program here does: blocks of the same numbers, sorted by the language's own library. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 60, SIZE = 10000 };

/* Marsaglia's xorshift (Journal of Statistical Software 8:14, 2003). */
static inline uint32_t next_number(uint32_t state) {
  state ^= state << 13;
  state ^= state >> 17;
  return state ^ state << 5;
}

static inline uint32_t fill(uint32_t *block, uint32_t state) {
  for (size_t at = 0; at < SIZE; at++) block[at] = state = next_number(state);
  return state;
}

static int ascending(const void *left, const void *right) {
  const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Seconds. */
static inline double sort(uint32_t *block) {
  const double start = now();
  qsort(block, SIZE, sizeof *block, ascending);
  return now() - start;
}

#endif
