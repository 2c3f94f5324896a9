/* Measurement points of generator. Made by `trialwise scaffold`: make it anew when the points change.
 * One file defines OML_FROM_MAIN before it includes this, and calls oml_register_mps between omlc_init and omlc_start. */
#ifndef GENERATOR_OML_H
#define GENERATOR_OML_H

#include <oml2/omlc.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  OmlMP *lin;
  OmlMP *sin;
} oml_mps_generator_t;

#ifndef __cplusplus
typedef oml_mps_generator_t oml_mps_t;
#endif

extern oml_mps_generator_t *g_oml_mps_generator;

#ifdef OML_FROM_MAIN
static OmlMPDef oml_lin_def[] = {
    {"label", OML_STRING_VALUE},
    {"seq_no", OML_UINT32_VALUE}, /* number of the sample */
    {NULL, (OmlValueT)0}};

static OmlMPDef oml_sin_def[] = {
    {"label", OML_STRING_VALUE},
    {"phase", OML_DOUBLE_VALUE}, /* [rad] */
    {"value", OML_DOUBLE_VALUE},
    {NULL, (OmlValueT)0}};

static oml_mps_generator_t oml_mps_generator_;
oml_mps_generator_t *g_oml_mps_generator = &oml_mps_generator_;

/* Declares the measurement points; 0, or -1 if one cannot be, which was logged. */
static inline int oml_register_mps(void) {
  int failed = 0;
  oml_mps_generator_.lin = omlc_add_mp("lin", oml_lin_def);
  if (oml_mps_generator_.lin == NULL) failed = -1;
  oml_mps_generator_.sin = omlc_add_mp("sin", oml_sin_def);
  if (oml_mps_generator_.sin == NULL) failed = -1;
  return failed;
}
#endif

/* A line. */
static inline int oml_inject_lin(OmlMP *mp, const char *label, uint32_t seq_no) {
  OmlValueU v[2];
  omlc_zero_array(v, 2);
  omlc_set_string(v[0], label);
  omlc_set_uint32(v[1], seq_no);
  const int injected = omlc_inject(mp, v);
  omlc_reset_string(v[0]);
  return injected;
}

/* A sine. */
static inline int oml_inject_sin(OmlMP *mp, const char *label, double phase, double value) {
  OmlValueU v[3];
  omlc_zero_array(v, 3);
  omlc_set_string(v[0], label);
  omlc_set_double(v[1], phase);
  omlc_set_double(v[2], value);
  const int injected = omlc_inject(mp, v);
  omlc_reset_string(v[0]);
  return injected;
}

#ifdef __cplusplus
}
#endif

#endif
