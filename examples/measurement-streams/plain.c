/* Knows nothing of measurement streams: prints a line for each block, as many programs do. */
#include <stdio.h>

#include "blocks.h"

int main(void) {
  static uint32_t block[SIZE];
  uint32_t state = 1;
  puts("size,seconds");
  for (int number = 0; number < BLOCKS; number++) {
    state = fill(block, state);
    printf("%d,%.9f\n", SIZE, sort(block));
  }
  return 0;
}
