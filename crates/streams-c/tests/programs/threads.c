/* Many threads inject into one measurement point; each row says who wrote it, and whether it is whole. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <oml2/omlc.h>

enum { THREADS = 16 };
static OmlMPDef fields[] = {{"thread", OML_INT32_VALUE},
                            {"number", OML_INT32_VALUE},
                            {"check", OML_INT64_VALUE},
                            {"text", OML_STRING_VALUE},
                            {NULL, (OmlValueT)0}};
static OmlMP *mp;
static int each = 1000;

static void *work(void *argument) {
  int thread = (int)(intptr_t)argument;
  size_t lost = 0;
  for (int number = 0; number < each; number++) {
    OmlValueU v[4];
    char text[40];
    omlc_zero_array(v, 4);
    snprintf(text, sizeof text, "%d of %d", number, thread);
    omlc_set_int32(v[0], thread);
    omlc_set_int32(v[1], number);
    omlc_set_int64(v[2], (int64_t)thread * 1000003 + number);
    omlc_set_string(v[3], text);
    lost += omlc_inject(mp, v) != 0;
    omlc_reset_string(v[3]);
  }
  return (void *)lost;
}

int main(int argc, const char **argv) {
  if (omlc_init("threads", &argc, argv, NULL) < 0) return 1;
  if (argc > 1) each = atoi(argv[1]);
  mp = omlc_add_mp("m", fields);
  if (omlc_start() != 0) return 2;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
  size_t lost = 0;
  for (int i = 0; i < THREADS; i++) {
    void *one;
    pthread_join(threads[i], &one);
    lost += (size_t)one;
  }
  printf("%zu\n", lost);
  omlc_close();
  return 0;
}
