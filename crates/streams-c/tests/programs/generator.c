/* A signal generator, instrumented as OML's examples are: two measurement points, filled at a steady rate. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ocomm/o_log.h>
#include <oml2/omlc.h>

static OmlMPDef oml_lin_def[] = {
    {"label", OML_STRING_VALUE}, {"seq_no", OML_UINT32_VALUE}, {"value", OML_DOUBLE_VALUE}, {NULL, (OmlValueT)0}};
static OmlMPDef oml_sin_def[] = {
    {"label", OML_STRING_VALUE}, {"phase", OML_DOUBLE_VALUE}, {"value", OML_DOUBLE_VALUE}, {NULL, (OmlValueT)0}};

int main(int argc, const char **argv) {
  if (omlc_init(argv[0], &argc, argv, NULL) < 0) {
    logerror("Could not initialise OML\n");
    return 1;
  }
  int samples = argc > 1 ? atoi(argv[1]) : 10;
  OmlMP *lin = omlc_add_mp("lin", oml_lin_def);
  OmlMP *sine = omlc_add_mp("sin", oml_sin_def);
  if (omlc_start() < 0) {
    logerror("Could not start OML\n");
    return 2;
  }
  double angle = 0;
  for (int i = 0; i < samples; i++, angle += 0.05) {
    OmlValueU v[3];
    omlc_zero_array(v, 3);
    char label[64];
    snprintf(label, sizeof label, "sample-%d", i);
    omlc_set_string(v[0], label);
    omlc_set_uint32(v[1], i);
    omlc_set_double(v[2], i * 0.5);
    if (omlc_inject(lin, v) != 0) return 3;
    omlc_set_double(v[1], angle);
    omlc_set_double(v[2], sin(angle));
    if (omlc_inject(sine, v) != 0) return 3;
    omlc_reset_string(v[0]);
  }
  printf("%d arguments left:", argc);
  for (int i = 1; i < argc; i++) printf(" %s", argv[i]);
  printf("%s\n", argv[argc] == NULL ? "" : " and no end");
  return omlc_close() == 0 ? 0 : 4;
}
