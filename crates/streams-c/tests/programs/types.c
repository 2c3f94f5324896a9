/* Every type, at its bounds; values that are copied are set anew again and again, as a program's loop does. */
#include <math.h>
#include <stdlib.h>

#include <oml2/omlc.h>
#include <oml2/oml_filter.h>
#include <oml2/oml_writer.h>

static OmlMPDef fields[] = {
    {"i", OML_INT32_VALUE},          {"u", OML_UINT32_VALUE},         {"I", OML_INT64_VALUE},
    {"U", OML_UINT64_VALUE},         {"d", OML_DOUBLE_VALUE},         {"b", OML_BOOL_VALUE},
    {"g", OML_GUID_VALUE},           {"s", OML_STRING_VALUE},         {"c", OML_STRING_VALUE},
    {"x", OML_BLOB_VALUE},           {"vi", OML_VECTOR_INT32_VALUE},  {"vu", OML_VECTOR_UINT32_VALUE},
    {"vI", OML_VECTOR_INT64_VALUE},  {"vU", OML_VECTOR_UINT64_VALUE}, {"vd", OML_VECTOR_DOUBLE_VALUE},
    {"vb", OML_VECTOR_BOOL_VALUE},   {"l", OML_LONG_VALUE},           {NULL, (OmlValueT)0}};
enum { FIELDS = 17 };

static void fill(OmlValueU *v, int turn) {
  const int32_t ints[] = {INT32_MIN, turn, INT32_MAX};
  const uint32_t uints[] = {0, UINT32_MAX};
  const int64_t longs[] = {INT64_MIN, INT64_MAX};
  const uint64_t ulongs[] = {UINT64_MAX};
  const double doubles[] = {0.5, -1e300};
  const bool bools[] = {true, false, true};
  omlc_set_int32(v[0], INT32_MIN);
  omlc_set_uint32(v[1], UINT32_MAX);
  omlc_set_int64(v[2], INT64_MIN);
  omlc_set_uint64(v[3], UINT64_MAX);
  omlc_set_double(v[4], 0.125);
  omlc_set_bool(v[5], 7);
  omlc_set_guid(v[6], UINT64_C(0xfedcba9876543210));
  omlc_set_const_string(v[7], "tab\there");
  omlc_set_string_copy(v[8], "only the first eleven", 15 - turn % 2);
  omlc_set_blob(v[9], "\0\1\2\377", turn % 2 ? 4 : 3);
  omlc_set_vector_int32(v[10], ints, 3);
  omlc_set_vector_uint32(v[11], uints, 2);
  omlc_set_vector_int64(v[12], longs, 2);
  omlc_set_vector_uint64(v[13], ulongs, turn % 2);
  omlc_set_vector_double(v[14], doubles, 2);
  omlc_set_vector_bool(v[15], bools, 3);
  omlc_set_long(v[16], -(1L << 40));
}

int main(int argc, const char **argv) {
  if (omlc_init("types", &argc, argv, NULL) < 0) return 1;
  OmlMP *mp = omlc_add_mp("all", fields);
  if (mp == NULL || omlc_start() != 0) return 2;
  OmlValueU v[FIELDS], copy;
  omlc_zero_array(v, FIELDS);
  omlc_zero(copy);
  int turns = argc > 1 ? atoi(argv[1]) : 2;
  for (int turn = 0; turn < turns; turn++) {
    fill(v, turn);
    omlc_copy_string(copy, v[8]);
    omlc_copy_string(v[8], copy);
    omlc_copy_blob(copy, v[9]);
    omlc_copy_blob(v[9], copy);
    omlc_copy_vector(copy, v[10]);
    omlc_copy_vector(v[10], copy);
    if (omlc_inject(mp, v) != 0) return 3;
  }
  omlc_set_string(v[7], NULL); /* an empty string, whatever was there before */
  omlc_reset_string(v[8]);
  omlc_reset_blob(v[9]);
  if (omlc_inject(mp, v) != 0) return 3;
  static const int32_t many[70000];
  omlc_set_vector_int32(v[10], many, 70000); /* too long: refused, and counted */
  if (omlc_inject(mp, v) != -1 || omlc_inject(NULL, v) != -1 || omlc_inject(mp, NULL) != -1) return 4;
  for (int i = 10; i < 16; i++) omlc_reset_vector(v[i]);
  omlc_reset_blob(copy);
  if (omlc_close() != -1) return 5; /* one sample was lost */
  fill(v, 0);
  if (omlc_inject(mp, v) != -1) return 6; /* closed: refused, and no crash */
  for (int i = 8; i < 16; i++) omlc_reset_blob(v[i]);
  return omlc_guid_generate() != omlc_guid_generate() ? 0 : 7;
}
